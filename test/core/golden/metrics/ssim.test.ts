// The bound that replaces the windows of images that are nearly the same, against the windows themselves.
import { expect, it } from "vitest";
import { makePair } from "../../../../src/core/golden/compare/difference.ts";
import { ssim } from "../../../../src/core/golden/metrics/ssim.ts";
import { float32 } from "../../../support/golden-tensors.ts";
import { randomOf } from "../../../support/planted-engines.ts";

const side = 24;
const random = randomOf(7);
const image = Array.from({ length: side * side }, () => random());

function measure(off: number, window: "gaussian" | "uniform") {
	const shape = [1, 1, side, side];
	const got = image.map((value) => value + off * (2 * random() - 1));
	const pair = makePair(float32(image, shape), float32(got, shape));
	const { maxAbs } = pair.difference();
	const bound = 1 - (maxAbs / 0.01) ** 2 - (window === "uniform" ? 49 / 48 : 1) * (maxAbs / 0.03) ** 2;
	return { bound, ...ssim(pair, { window, channels: "first", dataRange: 1 } as Parameters<typeof ssim>[1]) };
}

it.each(["gaussian", "uniform"] as const)(
	"ssim with a %s window is nowhere below the bound that stands for it close to 1",
	(window) => {
		for (const off of [1e-5, 1e-4, 1e-3, 1e-2]) {
			const { value, bound, detail } = measure(off, window);
			expect(detail).toMatch(/^lowest in one window/);
			expect(value).toBeGreaterThan(bound);
		}
		for (const off of [0, 1e-7, 1e-6]) {
			const { value, bound, detail } = measure(off, window);
			expect([value, detail]).toEqual([bound, "at least: no window is below 0.9999999"]);
			expect(value).toBeGreaterThan(1 - 2 ** -24);
		}
	},
);
