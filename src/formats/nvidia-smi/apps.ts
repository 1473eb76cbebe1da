// Reads the rows of `nvidia-smi --query-compute-apps`: the processes that hold a context on a GPU.
import { cellNumber, cellText, splitCells } from "./cell.ts";

export interface AppRow {
	/** Of the whole GPU, also where the process runs on a slice of it. */
	gpuUuid: string;
	/** As the driver numbers it: in a container, the host's number. */
	pid: number | null;
	/** "" where the driver does not tell. */
	name: string;
	memoryBytes: number | null;
}

const mebibyte = 1024 * 1024;

/** null: not a row. A process may have a comma in its name, so the row is read from both ends. */
export function parseAppLine(line: string): AppRow | null {
	const cells = splitCells(line);
	const [, gpuUuid, pid] = cells;
	if (cells.length < 5 || gpuUuid === undefined || !/^(GPU|MIG)-/.test(gpuUuid)) return null;
	const number = cellNumber(pid);
	const memoryMib = cellNumber(cells.at(-1));
	return {
		gpuUuid,
		pid: number !== null && Number.isSafeInteger(number) && number > 0 ? number : null,
		name: cellText(cells.slice(3, -1).join(", ")) ?? "",
		memoryBytes: memoryMib === null ? null : memoryMib * mebibyte,
	};
}
