/**
 * JSON text as people type it: the value, or the line and column of what is wrong with it.
 *
 * The engine's own messages name a place only sometimes, and quote the text around it, which in a configuration may be a
 * key. This reader names the place always and quotes one character at most.
 *
 * J1. What is accepted here is what `JSON.parse` accepts, less duplicate keys, whose first value would be lost silently.
 */
import { Data, Result } from "effect"

/** What is wrong, and where; line and column count from 1. */
export class JsonTextError extends Data.TaggedError("JsonTextError")<{
  readonly line: number
  readonly column: number
  /** Without its last full stop. */
  readonly message: string
}> {}

/** Reads a whole text. */
export const parse = (text: string): Result.Result<unknown, JsonTextError> => {
  // A byte order mark is what some editors put in front of everything.
  const start = text.startsWith("\uFEFF") ? 1 : 0
  const fault = new Scanner(text, start).document()
  return fault === undefined
    ? Result.succeed(JSON.parse(text.slice(start)))
    : Result.fail(new JsonTextError({ ...positionOf(text, fault.at), message: fault.message }))
}

// --- internal

/** Deeper than this no configuration goes; the scanner recurses. */
const DEEPEST = 100

interface Fault {
  readonly at: number
  readonly message: string
}

const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /[A-Za-z]+/y
// eslint-disable-next-line no-control-regex -- JSON forbids exactly these inside a string.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

/** Walks over one text and finds the first fault; builds nothing. */
class Scanner {
  private readonly text: string
  private at: number

  constructor(text: string, start: number) {
    this.text = text
    this.at = start
  }

  document(): Fault | undefined {
    const fault = this.value(0)
    if (fault !== undefined) return fault
    this.take(SPACE)
    return this.at < this.text.length ? this.fault("nothing more", "The value is complete before this") : undefined
  }

  private value(depth: number): Fault | undefined {
    this.take(SPACE)
    if (depth > DEEPEST) return { at: this.at, message: `nested more than ${DEEPEST} levels deep` }
    const next = this.text[this.at]
    if (next === "{") return this.object(depth)
    if (next === "[") return this.array(depth)
    if (next === '"') return this.string()
    const start = this.at
    if (this.take(NUMBER) !== "") return undefined
    const word = this.take(WORD)
    if (word === "true" || word === "false" || word === "null") return undefined
    this.at = start
    return this.fault("a value", next === "'" ? "Strings are in double quotes" : "")
  }

  private object(depth: number): Fault | undefined {
    const keys = new Set<string>()
    this.at++
    this.take(SPACE)
    if (this.text[this.at] === "}") return this.skip()
    for (;;) {
      this.take(SPACE)
      const start = this.at
      if (this.text[start] === "}") return this.fault("another key", "Remove the comma before it")
      if (this.text[start] !== '"') return this.fault("a key in double quotes")
      const fault = this.string()
      if (fault !== undefined) return fault
      const key: string = JSON.parse(this.text.slice(start, this.at))
      if (keys.has(key)) return { at: start, message: `the key ${JSON.stringify(key)} is there twice` }
      keys.add(key)
      this.take(SPACE)
      if (this.text[this.at] !== ":") return this.fault('a ":" after the key')
      this.at++
      const inside = this.value(depth + 1)
      if (inside !== undefined) return inside
      this.take(SPACE)
      if (this.text[this.at] === "}") return this.skip()
      if (this.text[this.at] !== ",") return this.fault('"," or "}"')
      this.at++
    }
  }

  private array(depth: number): Fault | undefined {
    this.at++
    this.take(SPACE)
    if (this.text[this.at] === "]") return this.skip()
    for (;;) {
      this.take(SPACE)
      if (this.text[this.at] === "]") return this.fault("another value", "Remove the comma before it")
      const inside = this.value(depth + 1)
      if (inside !== undefined) return inside
      this.take(SPACE)
      if (this.text[this.at] === "]") return this.skip()
      if (this.text[this.at] !== ",") return this.fault('"," or "]"')
      this.at++
    }
  }

  private string(): Fault | undefined {
    const start = this.at
    return this.take(STRING) === ""
      ? { at: start, message: "this string does not end on its line, or has a bad escape in it" }
      : undefined
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0] ?? ""
    this.at += found.length
    return found
  }

  private skip(): undefined {
    this.at++
  }

  private fault(expected: string, advice = ""): Fault {
    const next = this.text[this.at]
    const comment = this.text.startsWith("//", this.at) || this.text.startsWith("/*", this.at)
    const found = next === undefined ? "the end of the text" : comment ? "a comment" : JSON.stringify(next)
    const more = comment ? "JSON has no comments" : advice
    return { at: this.at, message: `found ${found}; expected ${expected}${more === "" ? "" : `. ${more}`}` }
  }
}

const positionOf = (text: string, at: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, at).split(/\r\n|[\n\r]/)
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
