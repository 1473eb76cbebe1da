export function finish<Result>(work: Generator<unknown, Result>): Result {
	for (let next = work.next(); ; next = work.next()) if (next.done === true) return next.value;
}
