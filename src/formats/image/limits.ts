// How large an image may be before it is decoded.

/** A file of more bytes than this is no test image. */
export const mostImageBytes = 64 * 1024 * 1024;
/** Pixels that the header may promise: four bytes each are allocated for them. */
export const mostPixels = 64 * 1024 * 1024;
