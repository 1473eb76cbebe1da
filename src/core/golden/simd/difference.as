// The difference of two blocks of binary32 in one pass, four values at a time: AssemblyScript, built by `npm run generate`.

const turn: usize = 32;
/** Wider than the rounding of the test in binary32, so that only what lies between the two counts is in doubt. */
const margin: f32 = 1e-6;

@inline function highHalf(v: v128): v128 {
	return f64x2.promote_low_f32x4(i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
}

@inline function sumOf(v: v128): f64 {
	return f64x2.extract_lane(v, 0) + f64x2.extract_lane(v, 1);
}

@inline function countOf(v: v128): i32 {
	return i32x4.extract_lane(v, 0) + i32x4.extract_lane(v, 1) + i32x4.extract_lane(v, 2) + i32x4.extract_lane(v, 3);
}

/**
 * `count` is a multiple of 32. Writes to `out`: sum of squared differences and of squared expected values (binary64),
 * the largest difference (binary32), elements certainly outside and perhaps outside of atol + rtol · |expected| (i32).
 * Squares are summed in binary32 over eight values and from there on in binary64: relative error below 4e-7.
 */
export function difference(expected: usize, got: usize, count: i32, rtol: f32, atol: f32, out: usize): void {
	let squared = f64x2.splat(0);
	let reference = f64x2.splat(0);
	let largest0 = f32x4.splat(0);
	let largest1 = f32x4.splat(0);
	let certain = i32x4.splat(0);
	let perhaps = i32x4.splat(0);
	const relative = f32x4.splat(rtol);
	const absolute = f32x4.splat(atol);
	const above = f32x4.splat(1 + margin);
	const below = f32x4.splat(1 - margin);
	const end = expected + ((<usize>count) << 2);
	while (expected < end) {
		let squared0 = f32x4.splat(0);
		let squared1 = f32x4.splat(0);
		let reference0 = f32x4.splat(0);
		let reference1 = f32x4.splat(0);
		const stop = expected + 128;
		while (expected < stop) {
			const e0 = v128.load(expected);
			const e1 = v128.load(expected, 16);
			const d0 = f32x4.abs(f32x4.sub(v128.load(got), e0));
			const d1 = f32x4.abs(f32x4.sub(v128.load(got, 16), e1));
			const limit0 = f32x4.add(absolute, f32x4.mul(relative, f32x4.abs(e0)));
			const limit1 = f32x4.add(absolute, f32x4.mul(relative, f32x4.abs(e1)));
			// pmax is one instruction; what it does to NaN does not matter, because the sums show every NaN.
			largest0 = f32x4.pmax(largest0, d0);
			largest1 = f32x4.pmax(largest1, d1);
			certain = i32x4.sub(certain, i32x4.add(f32x4.gt(d0, f32x4.mul(limit0, above)), f32x4.gt(d1, f32x4.mul(limit1, above))));
			perhaps = i32x4.sub(perhaps, i32x4.add(f32x4.gt(d0, f32x4.mul(limit0, below)), f32x4.gt(d1, f32x4.mul(limit1, below))));
			squared0 = f32x4.add(squared0, f32x4.mul(d0, d0));
			squared1 = f32x4.add(squared1, f32x4.mul(d1, d1));
			reference0 = f32x4.add(reference0, f32x4.mul(e0, e0));
			reference1 = f32x4.add(reference1, f32x4.mul(e1, e1));
			expected += turn;
			got += turn;
		}
		squared0 = f32x4.add(squared0, squared1);
		reference0 = f32x4.add(reference0, reference1);
		squared = f64x2.add(squared, f64x2.add(f64x2.promote_low_f32x4(squared0), highHalf(squared0)));
		reference = f64x2.add(reference, f64x2.add(f64x2.promote_low_f32x4(reference0), highHalf(reference0)));
	}
	const largest = f32x4.pmax(largest0, largest1);
	store<f64>(out, sumOf(squared));
	store<f64>(out, sumOf(reference), 8);
	store<f32>(
		out,
		max(
			max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
			max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3)),
		),
		16,
	);
	store<i32>(out, countOf(certain), 20);
	store<i32>(out, countOf(perhaps), 24);
}
