import { tmpdir } from "node:os";
import { join } from "node:path";

/** Entries go by a file's content: a new bundle never meets what an old one left. */
export const compileCache = join(tmpdir(), "trtgate-test-compiled");
