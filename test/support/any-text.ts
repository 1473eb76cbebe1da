// Text of any code points, lone surrogates too. To make fast-check's own `binary` unit takes a second.
import fc from "fast-check";

const unit = fc
	.oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10ffff))
	.map((point) => String.fromCodePoint(point));

export const anyText = (maxLength?: number) => fc.string({ unit, ...(maxLength && { maxLength }) });
