/* SPDX-License-Identifier: MIT
 *
 * A GPU that fails: the linker puts wrappers in front of the CUDA calls of vfront's steps (Makefile, GPU_FAULT), and
 * one of them returns an error. In a build without CUDA there is none.
 */
#ifndef HIL_GPU_FAULT_H
#define HIL_GPU_FAULT_H

#include <stdint.h>

/** Call number `call` from now on fails, from 1; 0: none. Returns 0 in a build without CUDA. */
int gpu_fault_set(uint32_t call);

#endif
