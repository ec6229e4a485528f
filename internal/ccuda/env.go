package ccuda

// PathEnv names a file to open in place of libcuda.so.1.
const PathEnv = "GOFABRIC_LIBCUDA"
