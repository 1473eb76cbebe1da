// Where every Node that a test starts keeps what it compiled, so that a bundle is compiled once and not for each run of it.
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Entries go by a file's content: a new bundle never meets what an old one left. */
export const compileCache = join(tmpdir(), "trtgate-test-compiled");
