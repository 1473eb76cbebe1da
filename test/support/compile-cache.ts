// The folder in which every Node started by a test caches compiled code, so that a bundle is compiled only once.
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Entries go by a file's content: a new bundle never meets what an old one left. */
export const compileCache = join(tmpdir(), "trtgate-test-compiled");
