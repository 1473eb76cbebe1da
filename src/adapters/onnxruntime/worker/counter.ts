// The counter of executed instructions in ONNX Runtime's WebAssembly module, and a clock that keeps the count the same in every process.

interface Exports {
	/** Added by scripts/wasm: half instructions. */
	halfInstructions?: { value: bigint };
}

/** The part of WebAssembly's interface that is used here; no type library without the web's has it. */
declare const WebAssembly: {
	instantiate(...source: readonly unknown[]): Promise<{ instance?: { exports: Exports }; exports?: Exports }>;
};

/** Executed so far, in half instructions. */
export type ReadCounter = () => number;

/**
 * Call it before ONNX Runtime is loaded. ONNX Runtime seeds its random numbers by the time, so the time stands still, or, for its profiler,
 * shows the count in microseconds.
 */
export function watchCounter(clock: "still" | "count"): ReadCounter {
	let exports: Exports = {};
	const { instantiate } = WebAssembly;
	WebAssembly.instantiate = async (...source) => {
		const result = await instantiate(...source);
		exports = result.instance?.exports ?? result.exports ?? {};
		return result;
	};
	const read: ReadCounter = () => Number(exports.halfInstructions?.value ?? 0);
	Object.defineProperty(performance, "timeOrigin", { value: 0 });
	Object.defineProperty(performance, "now", { value: clock === "still" ? () => 0 : () => read() / 1000 });
	Date.now = () => 0;
	return read;
}
