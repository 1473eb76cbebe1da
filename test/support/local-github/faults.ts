export interface Fault {
	method?: string;
	/** Tried on path and query as they come. */
	path: RegExp;
	/** How many requests it hits; one by default, Infinity for all. */
	times?: number;
	status?: number;
	body?: unknown;
	headers?: Readonly<Record<string, string>>;
	delayMs?: number;
	/** Cuts the connection with no answer. */
	hangUp?: true;
	/** Announces the whole answer, sends half of it and cuts. */
	truncate?: true;
	/** The request takes effect before the fault: its answer is what is lost. */
	applied?: true;
}

export interface Faults {
	inject(fault: Fault): void;
	/** The first one that fits, counted down. */
	take(method: string, path: string): Fault | undefined;
}

export function createFaults(): Faults {
	const waiting: { fault: Fault; left: number }[] = [];
	return {
		inject: (fault) => void waiting.push({ fault, left: fault.times ?? 1 }),
		take(method, path) {
			const fits = ({ fault, left }: { fault: Fault; left: number }): boolean =>
				left > 0 &&
				(fault.method === undefined || fault.method === method) &&
				new RegExp(fault.path.source, fault.path.flags.replace(/[gy]/g, "")).test(path);
			const found = waiting.find(fits);
			if (found) found.left -= 1;
			return found?.fault;
		},
	};
}
