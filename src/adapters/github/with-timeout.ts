// Bounds how long a promise is waited for.

/** @throws an error of the name TimeoutError. What was begun goes on; its end is of no interest any more. */
export async function withTimeout<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new DOMException(`no end within ${Math.round(limitMs / 1000)} s`, "TimeoutError")), limitMs);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
		// Nobody waits for a late failure.
		promise.catch(() => {});
	}
}
