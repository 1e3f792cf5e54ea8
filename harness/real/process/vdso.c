/* vdso.c: the wall clock of a program that goes round libc. */
#include "harness/real/process/vdso.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

enum {
    VDSO_PATH_BYTES = 96,
    VDSO_TRIES = 200,
    VDSO_JUMP_BYTES = 5,
    VDSO_SECTIONS_MAX = 256,
};

/* The numbers behind the code, in this order. */
struct vdso_line {
    int64_t base_sound_ns;
    int64_t base_shown_ns;
    int64_t rate_ppm;
};

/* ---- what is put there ----------------------------------------------------------------------- */

#if defined(__x86_64__)
/*
 * clock_gettime(clock, out), gettimeofday(out, zone), time(out). They call nothing but the kernel
 * and use no stack beyond 24 bytes: they run on whatever stack their callers have.
 */
__asm__(".pushsection .rodata\n"
        "vdso_code:\n"
        "vdso_clock_gettime:\n"
        "    mov $228, %eax\n" /* SYS_clock_gettime */
        "    syscall\n"
        "    test %eax, %eax\n"
        "    jnz 1f\n"
        "    test %edi, %edi\n" /* CLOCK_REALTIME */
        "    jz 2f\n"
        "    cmp $5, %edi\n" /* CLOCK_REALTIME_COARSE */
        "    jne 1f\n"
        "2:  imulq $1000000000, (%rsi), %rax\n"
        "    add 8(%rsi), %rax\n"
        "    sub vdso_numbers(%rip), %rax\n"
        "    imulq 16+vdso_numbers(%rip)\n"
        "    mov $1000000, %ecx\n"
        "    idiv %rcx\n"
        "    add 8+vdso_numbers(%rip), %rax\n"
        "    cqo\n"
        "    mov $1000000000, %ecx\n"
        "    idiv %rcx\n"
        "    mov %rax, (%rsi)\n"
        "    mov %rdx, 8(%rsi)\n"
        "    xor %eax, %eax\n"
        "1:  ret\n"
        "vdso_gettimeofday:\n"
        "    sub $24, %rsp\n"
        "    mov %rdi, 16(%rsp)\n"
        "    test %rdi, %rdi\n"
        "    jz 3f\n"
        "    xor %edi, %edi\n"
        "    mov %rsp, %rsi\n"
        "    call vdso_clock_gettime\n"
        "    mov 16(%rsp), %rdi\n"
        "    mov (%rsp), %rax\n"
        "    mov %rax, (%rdi)\n"
        "    mov 8(%rsp), %rax\n"
        "    xor %edx, %edx\n"
        "    mov $1000, %ecx\n"
        "    div %rcx\n"
        "    mov %rax, 8(%rdi)\n"
        "3:  xor %eax, %eax\n"
        "    add $24, %rsp\n"
        "    ret\n"
        "vdso_time:\n"
        "    sub $24, %rsp\n"
        "    mov %rdi, 16(%rsp)\n"
        "    xor %edi, %edi\n"
        "    mov %rsp, %rsi\n"
        "    call vdso_clock_gettime\n"
        "    mov (%rsp), %rax\n"
        "    mov 16(%rsp), %rdi\n"
        "    test %rdi, %rdi\n"
        "    jz 4f\n"
        "    mov %rax, (%rdi)\n"
        "4:  add $24, %rsp\n"
        "    ret\n"
        "    .balign 8\n"
        "vdso_numbers:\n"
        "    .quad 0, 0, 1000000\n"
        "vdso_code_end:\n"
        ".popsection\n");

extern const char vdso_code[];
extern const char vdso_gettimeofday[];
extern const char vdso_time[];
extern const char vdso_numbers[];
extern const char vdso_code_end[];

/* The functions that are replaced, and where in our code each of them begins. */
static const struct {
    const char *name;
    const char *code;
} functions[] = {
    {"__vdso_clock_gettime", vdso_code},
    {"__vdso_gettimeofday", vdso_gettimeofday},
    {"__vdso_time", vdso_time},
};
#else
static const char vdso_code[1], vdso_numbers[1], vdso_code_end[1];
static const struct {
    const char *name;
    const char *code;
} functions[] = {{"", vdso_code}};
#endif

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* ---- where it is put ------------------------------------------------------------------------- */

struct vdso_place {
    uint64_t offset; /* from the beginning of the pages */
    uint64_t bytes;  /* 0: there is no such function */
};

/* The same pages are in every process: ours tell where the functions are. */
static void vdso_places(struct vdso_place places[FUNCTIONS])
{
    const char *pages = (const char *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)pages;
    memset(places, 0, FUNCTIONS * sizeof places[0]);
    if (pages == NULL || header->e_shnum > VDSO_SECTIONS_MAX) {
        return;
    }
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(pages + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        bool symbols = sections[i].sh_type == SHT_DYNSYM;
        const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(pages + sections[i].sh_offset);
        const char *names = symbols ? pages + sections[sections[i].sh_link].sh_offset : "";
        size_t count = symbols ? sections[i].sh_size / sizeof *symbol : 0;
        for (size_t j = 0; j < count * FUNCTIONS; j++) {
            const Elf64_Sym *one = &symbol[j / FUNCTIONS];
            if (strcmp(names + one->st_name, functions[j % FUNCTIONS].name) == 0) {
                places[j % FUNCTIONS] = (struct vdso_place){one->st_value, one->st_size};
            }
        }
    }
}

static bool vdso_find(struct vdso *vdso)
{
    char path[VDSO_PATH_BYTES];
    char line[512];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)vdso->pid);
    FILE *maps = fopen(path, "re");
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        char *dash = NULL;
        vdso->begin = strtoull(line, &dash, 16);
        vdso->end = *dash == '-' ? strtoull(dash + 1, NULL, 16) : 0;
        found = strstr(line, "[vdso]") != NULL;
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return found;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct vdso_look {
    const struct vdso *vdso;
    bool entered;
};

/* Is this thread in the middle of those pages? The last number tells. */
static void vdso_look_at(pid_t thread, void *data)
{
    struct vdso_look *look = data;
    char line[256];
    (void)proc_read_thread(thread, "syscall", line, sizeof line);
    const char *last = strrchr(line, ' ');
    uint64_t at = last != NULL ? strtoull(last, NULL, 16) : look->vdso->begin;
    look->entered = look->entered || (at >= look->vdso->begin && at < look->vdso->end);
}

/* Is a thread of the stopped process there? */
static bool vdso_is_entered(const struct vdso *vdso)
{
    struct vdso_look look = {.vdso = vdso};
    return !proc_threads(vdso->pid, vdso_look_at, &look) || look.entered;
}

/*
 * Stop the process where none of its threads is in those pages. One that stands already, by a
 * fault, is left as it stands: `stood`.
 */
static struct result vdso_stop(const struct vdso *vdso, bool *stood, struct text *why)
{
    *stood = proc_state(vdso->pid) == 'T';
    for (int i = 0; i < VDSO_TRIES && !*stood; i++) {
        TRY(process_freeze(vdso->pid, why));
        if (!vdso_is_entered(vdso)) {
            return RESULT_OK;
        }
        process_thaw(vdso->pid);
        (void)nanosleep(&(struct timespec){.tv_nsec = 100 * NS_PER_US}, NULL);
    }
    if (*stood) {
        return RESULT_OK;
    }
    text_add(why, "the threads of process %d never leave their clock", (int)vdso->pid);
    return result_error(ERROR_ENVIRONMENT);
}

static void vdso_go_on(const struct vdso *vdso, bool stood)
{
    if (!stood) {
        process_thaw(vdso->pid);
    }
}

static struct result vdso_write(const struct vdso *vdso, uint64_t at, const void *bytes,
                                size_t count, struct text *why)
{
    char path[VDSO_PATH_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)vdso->pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t written = fd >= 0 ? pwrite(fd, bytes, count, (off_t)at) : -1;
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (written != (ssize_t)count) {
        text_add(why, "the kernel does not let us write to process %d (%s)", (int)vdso->pid,
                 strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* Put the code over the largest of the functions, and a jump to it over the others. */
static struct result vdso_replace(struct vdso *vdso, const struct vdso_place *places,
                                  struct text *why)
{
    size_t code_bytes = (size_t)(vdso_code_end - vdso_code);
    int host = 0;
    for (int i = 1; i < FUNCTIONS; i++) {
        host = places[i].bytes > places[host].bytes ? i : host;
    }
    if (places[host].bytes < code_bytes + VDSO_JUMP_BYTES) {
        text_add(why, "this kernel's clock functions have no room for others");
        return result_error(ERROR_ENVIRONMENT);
    }
    uint64_t code = vdso->begin + places[host].offset + VDSO_JUMP_BYTES;
    vdso->line = code + (uint64_t)(vdso_numbers - vdso_code);
    TRY(vdso_write(vdso, code, vdso_code, code_bytes, why));
    for (int i = 0; i < FUNCTIONS; i++) {
        uint64_t from = vdso->begin + places[i].offset;
        uint64_t to = code + (uint64_t)(functions[i].code - vdso_code);
        int32_t distance = (int32_t)((int64_t)to - (int64_t)(from + VDSO_JUMP_BYTES));
        unsigned char jump[VDSO_JUMP_BYTES] = {0xe9};
        memcpy(&jump[1], &distance, sizeof distance);
        if (places[i].bytes >= VDSO_JUMP_BYTES) {
            TRY(vdso_write(vdso, from, jump, sizeof jump, why));
        }
    }
    return RESULT_OK;
}

struct result vdso_install(struct vdso *vdso, pid_t pid, struct text *why)
{
    struct vdso_place places[FUNCTIONS];
    *vdso = (struct vdso){.pid = pid};
    vdso_places(places);
    if (!vdso_find(vdso)) {
        text_add(why, "process %d has no clock functions of the kernel's", (int)pid);
        vdso->pid = 0;
        return result_error(ERROR_ENVIRONMENT);
    }
    bool stood = false;
    struct result done = vdso_stop(vdso, &stood, why);
    if (!result_failed(done)) {
        done = vdso_replace(vdso, places, why);
        vdso_go_on(vdso, stood);
    }
    vdso->pid = result_failed(done) ? 0 : pid;
    return done;
}

struct result vdso_set(const struct vdso *vdso, const struct clock *clock, struct text *why)
{
    struct vdso_line line = {clock->true_ns, clock->local_ns, clock->rate_ppm};
    ASSERT(vdso->pid > 0);
    bool stood = false;
    TRY(vdso_stop(vdso, &stood, why));
    struct result done = vdso_write(vdso, vdso->line, &line, sizeof line, why);
    vdso_go_on(vdso, stood);
    return done;
}

/* ---- who needs it ---------------------------------------------------------------------------- */

/* Is there a section in this program that only Go's linker writes? */
static bool vdso_of_go(int fd, const Elf64_Ehdr *header)
{
    static const char mark[] = ".gopclntab";
    static char names[1 << 12];
    Elf64_Shdr section;
    off_t at = (off_t)header->e_shoff + (off_t)header->e_shstrndx * (off_t)sizeof section;
    if (pread(fd, &section, sizeof section, at) != (ssize_t)sizeof section) {
        return false;
    }
    ssize_t bytes = pread(fd, names, sizeof names, (off_t)section.sh_offset);
    return bytes > 0 && memmem(names, (size_t)bytes, mark, sizeof mark - 1) != NULL;
}

/*
 * A program without an interpreter loads nothing before itself; one of Go's asks the pages itself
 * even where it has one.
 */
bool vdso_is_asked(pid_t pid)
{
    static char bytes[1 << 12];
    char path[VDSO_PATH_BYTES];
    bool interpreted = false;
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? pread(fd, bytes, sizeof bytes, 0) : 0;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    bool elf = got > (ssize_t)sizeof *header && memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
               header->e_phoff + (uint64_t)header->e_phnum * sizeof(Elf64_Phdr) <= (uint64_t)got;
    const char *table = bytes + (elf ? header->e_phoff : 0);
    const Elf64_Phdr *parts = (const Elf64_Phdr *)(const void *)table;
    for (int i = 0; elf && i < header->e_phnum; i++) {
        interpreted = interpreted || parts[i].p_type == PT_INTERP;
    }
    bool asked = elf && (!interpreted || vdso_of_go(fd, header));
    if (fd >= 0) {
        (void)close(fd);
    }
    return asked;
}
