// Writes as many megabytes as it is told, with invalid UTF-8 and, with "one-line", no newline.
import { writeSync } from "node:fs";

const megabytes = Number(process.argv[2]);
const line = Buffer.alloc(1024, "x");
line[10] = 0xff;
if (process.argv[3] !== "one-line") line[1023] = 10;
for (let i = 0; i < megabytes * 1024; i++) {
	let done = 0;
	while (done < line.length) {
		try {
			done += writeSync(1, line, done);
		} catch (error) {
			if (error.code !== "EAGAIN") throw error;
		}
	}
}
console.error("flood over");
