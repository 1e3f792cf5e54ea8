/*
 * keys_owner.c: whose a hash is. A lock writes its owner into a hash as a field's name, beside a
 * count (Redisson), or as the value of a field, beside others; which of the words it is no node
 * says. It is what its client sent, and no number, and longer than what somebody calls a field.
 */
#include "harness/real/keys/keys_inner.h"

/* A word as long as this is no label: nobody calls a field so. */
enum { OWNER_BYTES_SURE = 16 };

enum likelihood { NO_OWNER, MADE_BY_THE_SCRIPT, SHORT_NAME, SHORT_VALUE, SURE };

struct hash_owner {
    enum likelihood likely;
    const struct resp_word *word;
    uint64_t field; /* that holds it; 0: it is a field's name */
};

static uint64_t word_hash(const struct resp_word *word)
{
    return keys_hash(word->data, word->bytes);
}

/* Is it a word of the command itself, and not one that a script made? */
static bool was_sent(const struct keys_unit *unit, const struct resp_word *word)
{
    struct history_value value;
    keys_value(word->data, word->bytes, &value);
    for (uint32_t i = 0; i < unit->word_count; i++) {
        if (history_value_equal(&unit->words[i], &value)) {
            return true;
        }
    }
    return false;
}

static enum likelihood likelihood_of(const struct keys_unit *unit, const struct resp_word *word,
                                     bool is_value)
{
    int64_t number;
    bool sure = word->bytes >= OWNER_BYTES_SURE;
    if (is_value && resp_word_number(word, &number)) {
        return NO_OWNER;
    }
    if (unit->script && !was_sent(unit, word)) {
        return sure ? MADE_BY_THE_SCRIPT : NO_OWNER;
    }
    return sure ? SURE : is_value ? SHORT_VALUE : SHORT_NAME;
}

/* The likeliest of the words; of several the first. */
static struct hash_owner owner_find(const struct keys_unit *unit, const struct effect *said)
{
    struct hash_owner best = {.likely = NO_OWNER};
    const struct resp_words *words = said->fields;
    for (uint32_t i = 2; i < words->count; i++) {
        bool is_value = said->field_step == 2 && i % 2 == 1;
        enum likelihood likely = likelihood_of(unit, &words->word[i], is_value);
        if (likely > best.likely) {
            best = (struct hash_owner){
                .likely = likely,
                .word = &words->word[i],
                .field = is_value ? word_hash(&words->word[i - 1]) : 0,
            };
        }
    }
    return best;
}

/* The word that is written into the field that holds the owner; NULL if another one is. */
static const struct resp_word *owner_again(const struct keys_key *key, const struct effect *said)
{
    const struct resp_words *words = said->fields;
    for (uint32_t i = 3; i < words->count && said->field_step == 2; i += 2) {
        if (key->value_field != 0 && word_hash(&words->word[i - 1]) == key->value_field) {
            return &words->word[i];
        }
    }
    return NULL;
}

static void owner_set(struct keys_key *key, const struct resp_word *word, uint64_t field)
{
    keys_value(word->data, word->bytes, &key->value);
    key->has_value = true;
    key->value_field = field;
}

void keys_hash_write(struct keys_key *key, const struct keys_unit *unit, const struct effect *said)
{
    bool known = key->shape == SHAPE_HASH && key->has_value;
    key->shape = SHAPE_HASH;
    if (said->fields == NULL) {
        return;
    }
    if (!known) {
        struct hash_owner owner = owner_find(unit, said);
        if (owner.likely != NO_OWNER) {
            owner_set(key, owner.word, owner.field);
        }
        return;
    }
    const struct resp_word *other = owner_again(key, said);
    if (other != NULL) {
        owner_set(key, other, key->value_field);
        key->owner = unit->process;
    }
}
