// Works on several items at a time; results keep their order.
export async function inParallel<Item, Result>(
	items: readonly Item[],
	atOnce: number,
	work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
	const results: Result[] = [];
	const queue = items.entries();
	const lane = async () => {
		for (const [index, item] of queue) results[index] = await work(item, index);
	};
	await Promise.all(Array.from({ length: Math.max(1, Math.min(atOnce, items.length)) }, lane));
	return results;
}
