/** Reads percent-encoded text. */
import { Option } from "effect"

/** The text that is meant; none if the encoding is faulty. */
export const decode: (text: string) => Option.Option<string> = Option.liftThrowable(decodeURIComponent)

/** The same; text with a faulty encoding is meant as it is. */
export const decodeOrKeep = (text: string): string => Option.getOrElse(decode(text), () => text)
