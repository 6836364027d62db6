/* SPDX-License-Identifier: MIT */
/* Plugin of qemu in user mode: instructions that ran, by address of the block that qemu translated. What is used of
 * qemu's interface, version 1, is declared here, since Debian's qemu-user comes without its header.
 *
 *     qemu-aarch64 -plugin counts.so,out=FILE program     FILE: a line a block, its address and its instructions run
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

struct qemu_plugin_tb;
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int operation, void *to, uint64_t by);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t id, void *with), void *with);

EXPORTED extern int qemu_plugin_version;
int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

enum { ADD = 0, MOST_BLOCKS = 1 << 20 };

/** Blocks in the order of their translation; one that is translated again is another. */
static struct {
    uint64_t address, instructions;
} block[MOST_BLOCKS];
static size_t blocks;

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    if (blocks == MOST_BLOCKS) {
        fprintf(stderr, "counts: more than %d blocks\n", MOST_BLOCKS);
        exit(1);
    }
    block[blocks].address = qemu_plugin_tb_vaddr(tb);
    qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD, &block[blocks].instructions, qemu_plugin_tb_n_insns(tb));
    blocks++;
}

static void ended(uint64_t id, void *file)
{
    (void)id;
    for (size_t i = 0; i < blocks; i++)
        if (block[i].instructions) fprintf(file, "%" PRIx64 " %" PRIu64 "\n", block[i].address, block[i].instructions);
    if (fclose(file)) perror("counts");
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    FILE *file = argc == 1 && !strncmp(argv[0], "out=", 4) ? fopen(argv[0] + 4, "w") : NULL;
    if (!file) {
        fprintf(stderr, "counts: -plugin counts.so,out=FILE\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, file);
    return 0;
}
