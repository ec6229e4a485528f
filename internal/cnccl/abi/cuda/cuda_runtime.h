/* What nccl.h needs of CUDA's headers, for check_nccl.c where there are none. */
#ifndef GF1_CUDA_RUNTIME_H
#define GF1_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define CUDART_VERSION 0
typedef struct CUstream_st *cudaStream_t;

#endif
