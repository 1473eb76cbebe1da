// Runs long work step by step: between steps, progress is shown and signals are handled.
export async function follow<Result>(
	work: Generator<string, Result>,
	onStep: (step: string) => void,
): Promise<Result> {
	for (let next = work.next(); ; next = work.next()) {
		if (next.done === true) return next.value;
		onStep(next.value);
		await nextTurn();
	}
}

export function nextTurn(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
