// How large an image may be before it is decoded.

/** A file of more bytes than this is no test image. */
export const mostImageBytes = 64 * 1024 * 1024;
/** Pixels that the header may promise, 4096 × 4096: decoding them takes about a second and at most half a gibibyte. */
export const mostPixels = 16 * 1024 * 1024;
/** What jpeg-js may count, half of what it takes: 8 million pixels in full colour, 13 million in 4:2:0. */
export const mostJpegMebibytes = 192;
