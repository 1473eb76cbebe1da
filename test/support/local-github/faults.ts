export interface Fault {
	method?: string;
	path: RegExp;
	/** One by default. */
	times?: number;
	status?: number;
	body?: unknown;
	headers?: Readonly<Record<string, string>>;
	delayMs?: number;
	hangUp?: true;
	truncate?: true;
	/** The request takes effect before the fault: its answer is what is lost. */
	applied?: true;
}

export interface Faults {
	inject(fault: Fault): void;
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
