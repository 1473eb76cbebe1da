// The version of ONNX Runtime that trtgate ships and fetches, and the hashes of its files.

export interface PinnedFile {
	name: string;
	bytes: number;
	/** Lower-case hex. */
	sha256: string;
}

export const ortVersion = "1.30.0";

/** The two files of onnxruntime-web that WebAssembly without a browser needs; the first with a counter of its instructions (scripts/wasm). */
export const pinnedWasm: { version: string; wasm: PinnedFile; module: PinnedFile } = {
	version: ortVersion,
	wasm: {
		name: "ort-wasm-simd-threaded.wasm",
		bytes: 18_023_949,
		sha256: "1a59b52108df9d528ef2ef7521f6b8196debb5d35dfac4bc259b690741e22fbb",
	},
	module: {
		name: "ort-wasm-simd-threaded.mjs",
		bytes: 24_381,
		sha256: "e13f7f94fc51b4ca72b12faeb1ee95f4ace6dfbc8939bc718aabdc0a27c4299b",
	},
};

export interface PinnedPackage {
	name: string;
	version: string;
	/** `dist.integrity` of the registry, without `sha512-`. */
	sha512: string;
}

/** The native build and the package that it requires. Its install script and other dependencies are for CUDA and not needed. */
export const pinnedNative: readonly PinnedPackage[] = [
	{
		name: "onnxruntime-node",
		version: ortVersion,
		sha512: "twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==",
	},
	{
		name: "onnxruntime-common",
		version: ortVersion,
		sha512: "7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==",
	},
];
