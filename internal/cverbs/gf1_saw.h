#ifndef GF1_SAW_H
#define GF1_SAW_H
#define SAW(function, rc) (rc)
#endif
