// The difference of two blocks of binary32 in one pass, four values at a time: AssemblyScript, built by `npm run generate`.

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
 * Squares are summed in binary32 over eight values and from there on in binary64: relative error below 6e-7, ten roundings.
 */
export function difference(expected: usize, got: usize, count: i32, rtol: f32, atol: f32, out: usize): void {
	let squared = f64x2.splat(0);
	let reference = f64x2.splat(0);
	let largest = f32x4.splat(0);
	let certain = i32x4.splat(0);
	let perhaps = i32x4.splat(0);
	const relativeAbove = f32x4.splat(rtol * (1 + margin));
	const relativeBelow = f32x4.splat(rtol * (1 - margin));
	const absoluteAbove = f32x4.splat(atol * (1 + margin));
	const absoluteBelow = f32x4.splat(atol * (1 - margin));
	const end = expected + ((<usize>count) << 2);
	// One vector at a time: what two need does not fit into sixteen registers.
	while (expected < end) {
		let squares = f32x4.splat(0);
		let references = f32x4.splat(0);
		const stop = expected + 128;
		while (expected < stop) {
			const e = v128.load(expected);
			const d = f32x4.abs(f32x4.sub(v128.load(got), e));
			const a = f32x4.abs(e);
			// One instruction; what it does to NaN does not matter, because the sums show every NaN.
			largest = f32x4.pmax(largest, d);
			certain = i32x4.sub(certain, f32x4.gt(d, f32x4.add(absoluteAbove, f32x4.mul(relativeAbove, a))));
			perhaps = i32x4.sub(perhaps, f32x4.gt(d, f32x4.add(absoluteBelow, f32x4.mul(relativeBelow, a))));
			squares = f32x4.add(squares, f32x4.mul(d, d));
			references = f32x4.add(references, f32x4.mul(e, e));
			expected += 16;
			got += 16;
		}
		squared = f64x2.add(squared, f64x2.add(f64x2.promote_low_f32x4(squares), highHalf(squares)));
		reference = f64x2.add(reference, f64x2.add(f64x2.promote_low_f32x4(references), highHalf(references)));
	}
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
