/* operation.c: what is found is told by a reason and at most four operations. */
#include "checker/linear/operation.h"

#include "base/assert.h"

void finding_begin(struct linear_finding *finding, enum linear_reason reason, enum grade grade)
{
    ASSERT(reason != LINEAR_LEGAL);
    *finding = (struct linear_finding){.reason = (uint8_t)reason, .grade = (uint8_t)grade};
}

void finding_add(struct linear_finding *finding, uint64_t invoke)
{
    for (uint8_t i = 0; i < finding->count; i++) {
        if (finding->operations[i] == invoke) {
            return;
        }
    }
    if (invoke != CHAIN_NO_OPERATION && finding->count < LINEAR_OPERATIONS_SHOWN) {
        finding->operations[finding->count++] = invoke;
    }
}
