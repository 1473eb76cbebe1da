// How long TensorRT takes to build an engine that it has never built: a law fitted to recorded builds.
import type { EngineConfig } from "../config/config.ts";
import type { OnnxModel } from "../onnx/model.ts";
import { integerAttribute } from "../onnx/static-shapes/operator.ts";
import { scopesOf } from "../onnx/walk.ts";
import type { Precision } from "../schema/config.ts";

/** Nodes whose kernels TensorRT tries one by one. It compiles most others into few kernels, whatever their number. */
export interface BuildWork {
	convolutions: number;
	/** Depthwise ones among them. */
	groupedConvolutions: number;
}

export function buildWorkOf(model: OnnxModel): BuildWork {
	const nodes = scopesOf(model).flatMap((scope) => scope.nodes.filter(({ op }) => op === "Conv" || op === "ConvTranspose"));
	const grouped = nodes.filter((node) => integerAttribute(node, "group", 1) > 1).length;
	return { convolutions: nodes.length - grouped, groupedConvolutions: grouped };
}

/** Loading the builder and its kernels. */
const startMs = 5_500;
/** In fp32 at the default optimization level. */
const costsMs = { convolution: 600, groupedConvolution: 2600, rest: 1500 };
/** A build times the kernels of every precision that it allows, fp32 always. */
const precisionFactors: Readonly<Partial<Record<Precision, number>>> = {
	...{ tf32: 2.5, fp16: 4.3, bf16: 4.3 },
	...{ int8: 9, fp8: 9, int4: 9, fp4: 9 },
};
/**
 * By optimization level. After its start, captcha_whisperer's network took 5, 7, 7, 8, 19 and 46 s at levels 0 to 5 in fp32; in fp16, where
 * there are more kernels to skip, a ResNet-18 took 10 and 34 s at 1 and 3. Below 3, the factors lie between both.
 */
const levelFactors = [0.15, 0.4, 0.6, 1, 2.3, 5.6] as const;

/**
 * Fitted to 32 builds of 21 public models with TensorRT 10.6 on an H200 (bench/build-times.tsv), and 9 whose pace told how long they would
 * have taken. A model that the fit has not seen takes e^±0.6 of it; without the counts it is e^±1.1.
 */
export function coldBuildMs({ convolutions, groupedConvolutions }: BuildWork, { precision, tensorrt }: EngineConfig): number {
	const workMs = costsMs.rest + convolutions * costsMs.convolution + groupedConvolutions * costsMs.groupedConvolution;
	return startMs + workMs * (precisionFactors[precision] ?? 1) * (levelFactors[tensorrt.optimizationLevel ?? 3] ?? 1);
}

/** Where the other side's build has left its kernel timings: recorded builds took 5.8 after 46.9 s, 7.8 after 37.5, 9.2 after 28.9, 4.9 after 10.4. */
export function secondBuildMs(work: BuildWork, engine: EngineConfig): number {
	return startMs + 0.06 * (coldBuildMs(work, engine) - startMs);
}
