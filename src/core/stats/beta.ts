// Log-gamma and the regularised incomplete beta function, in double precision.

const halfLogTwoPi = 0.5 * Math.log(2 * Math.PI);

/** B(2k) / (2k (2k-1)) for k = 1…7: Stirling's series, Abramowitz & Stegun 6.1.41. */
const stirlingSeries = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360_360, 1 / 156] as const;
/** The series is exact to double precision from here. */
const stirlingFrom = 12;

/** ln Γ(x) − [(x − ½) ln x − x + ½ ln 2π], for x ≥ stirlingFrom. */
function stirlingRest(x: number): number {
	const inverseSquare = 1 / (x * x);
	return stirlingSeries.reduceRight((sum, term) => sum * inverseSquare + term, 0) / x;
}

export function logGamma(x: number): number {
	let product = 1;
	let shifted = x;
	while (shifted < stirlingFrom) {
		product *= shifted;
		shifted += 1;
	}
	return (
		(shifted - 0.5) * Math.log(shifted) - shifted + halfLogTwoPi + stirlingRest(shifted) - Math.log(product)
	);
}

/** A point of the unit interval with its complement, so that neither end loses digits: x + y = 1. */
export interface UnitPoint {
	x: number;
	y: number;
}

/** ln(value / mean), exact if the two are close. */
function logRatio(value: number, mean: number): number {
	const relative = (value - mean) / mean;
	return Math.abs(relative) < 0.5 ? Math.log1p(relative) : Math.log(value / mean);
}

/** x^a y^b / B(a, b); large parameters are expanded about the mean to keep digits. */
function betaPower(a: number, b: number, { x, y }: UnitPoint): number {
	const total = a + b;
	if (a < stirlingFrom || b < stirlingFrom) {
		const logBeta = logGamma(a) + logGamma(b) - logGamma(total);
		return Math.exp(a * Math.log(x) + b * Math.log(y) - logBeta);
	}
	const exponent = a * logRatio(x, a / total) + b * logRatio(y, b / total);
	const rest = stirlingRest(a) + stirlingRest(b) - stirlingRest(total);
	return Math.exp(exponent - rest) * Math.sqrt((a * b) / (2 * Math.PI * total));
}

const maxSteps = 100_000;
const tiny = 1e-300;

/** The continued fraction of Numerical Recipes 6.4.5, by Lentz's method. */
function betaFraction(a: number, b: number, x: number): number {
	const guard = (value: number) => (Math.abs(value) < tiny ? tiny : value);
	let c = 1;
	let d = 1 / guard(1 - ((a + b) * x) / (a + 1));
	let fraction = d;
	for (let m = 1; m < maxSteps; m += 1) {
		const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 / guard(1 + even * d);
		c = guard(1 + even / c);
		fraction *= d * c;
		const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / guard(1 + odd * d);
		c = guard(1 + odd / c);
		const step = d * c;
		fraction *= step;
		if (Math.abs(step - 1) < 1e-16) break;
	}
	return fraction;
}

/** I_x(a, b), for a, b > 0; exact relative to its size if x is below the mean. */
export function regularisedBeta(a: number, b: number, point: UnitPoint): number {
	if (point.x <= 0) return 0;
	if (point.y <= 0) return 1;
	const power = betaPower(a, b, point);
	if (point.x < (a + 1) / (a + b + 2)) return (power * betaFraction(a, b, point.x)) / a;
	return 1 - (power * betaFraction(b, a, point.y)) / b;
}
