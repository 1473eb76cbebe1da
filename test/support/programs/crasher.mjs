// Says a last word and dies of a segmentation fault.
import { writeSync } from "node:fs";

writeSync(2, "about to touch bad memory\n");
process.kill(process.pid, "SIGSEGV");
setTimeout(() => {}, 10_000);
