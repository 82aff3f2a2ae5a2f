/**
 * Reads JSON with comments and trailing commas: the value, or the line and column of the first mistake.
 *
 * `jsonc-parser` reads the text. This file adds the wording of mistakes and refuses text that is valid JSON but no configuration.
 *
 * JsonText.J1. Text without comments and trailing commas has the value that `JSON.parse` gives it, and is refused if `JSON.parse`
 *     refuses it.
 * JsonText.J2. A duplicate key is refused: `JSON.parse` would drop the first value silently.
 * JsonText.J3. Nesting is limited, so a text of any depth gets an answer and not a stack overflow.
 * JsonText.J4. A message quotes one character of the text, or a key, and never a value: a value may be a secret.
 */
import { Quote } from "@holdfast/wire"
import { Data, Result } from "effect"
import { type JSONVisitor, printParseErrorCode, visit } from "jsonc-parser"

/** A position in the text; line and column count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A mistake and its position. */
export class JsonTextError extends Data.TaggedError("JsonTextError")<{
  readonly line: number
  readonly column: number
  /** Without its last full stop. */
  readonly message: string
}> {}

/** Reads a whole text. */
export const parse = (text: string): Result.Result<unknown, JsonTextError> => {
  const given = withoutMark(text)
  const reader = new Reader(given)
  const fault = reader.read()
  return fault === undefined ? Result.succeed(JSON.parse(reader.plain())) : Result.fail(new JsonTextError(fault))
}

/** The positions of the keys and elements of a valid text, each with its path. */
export const places = (
  text: string
): ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly position: Position }> => {
  const found: Array<{ readonly path: ReadonlyArray<string | number>; readonly position: Position }> = []
  const put = (path: ReadonlyArray<string | number>, line: number, character: number) =>
    found.push({ path, position: positionOf(line, character) })
  const element = (path: ReadonlyArray<string | number>, line: number, character: number) => {
    if (typeof path.at(-1) === "number") put(path, line, character)
  }
  visit(
    withoutMark(text),
    {
      onObjectBegin: (_offset, _length, line, character, path) => element(path(), line, character),
      onArrayBegin: (_offset, _length, line, character, path) => element(path(), line, character),
      onLiteralValue: (_value, _offset, _length, line, character, path) => element(path(), line, character),
      onObjectProperty: (name, _offset, _length, line, character, path) => {
        put([...path(), name], line, character)
      }
    },
    ACCEPTED
  )
  return found
}

// --- internal

/** The deepest nesting: no configuration needs more. */
const DEEPEST = 100

const ACCEPTED = { allowTrailingComma: true }

/** Some editors begin a file with a byte order mark. */
const withoutMark = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text)

const positionOf = (line: number, character: number): Position => ({ line: line + 1, column: character + 1 })

interface Fault extends Position {
  readonly message: string
}

/** Ends a visit at the first mistake: `visit` itself continues after mistakes, and recurses into any depth. */
class Stop {
  readonly fault: Fault
  constructor(fault: Fault) {
    this.fault = fault
  }
}

/** The object or array around the current position: an object has its keys so far, each with its line. */
type Around = Map<string, number> | "array"

const VALUE = "a value"
const KEY = "a key in double quotes"

/** Mistakes within a token, by the library's name. Every other mistake is an unexpected token. */
const TOKENS: ReadonlyMap<string, string> = new Map([
  ["UnexpectedEndOfComment", "this comment has no end; expected */"],
  ["UnexpectedEndOfString", "this string does not end on its line"],
  ["InvalidCharacter", "this string has a control character in it; expected an escape such as \\t"],
  ["InvalidEscapeCharacter", 'this string has a bad escape in it; expected \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u'],
  ["InvalidUnicode", "this string has a bad escape in it; expected four hexadecimal digits after \\u"],
  ["UnexpectedEndOfNumber", "this number is not complete; expected a digit"]
])

/** Reads one text. */
class Reader {
  private readonly text: string
  private readonly around: Array<Around> = []
  private expected = VALUE
  /** The offset of a comma that no token has followed so far. */
  private comma: number | undefined
  /** Comments and trailing commas, which `JSON.parse` refuses, in the order of the text. */
  private readonly extras: Array<{ readonly from: number; readonly to: number }> = []

  constructor(text: string) {
    this.text = text
  }

  /** Finds the first mistake. */
  read(): Fault | undefined {
    try {
      visit(this.text, this.visitor, ACCEPTED)
      return undefined
    } catch (stop) {
      if (stop instanceof Stop) return stop.fault
      throw stop
    }
  }

  /** The text without its extras. */
  plain(): string {
    let from = 0
    const parts: Array<string> = []
    for (const extra of this.extras.toSorted((left, right) => left.from - right.from)) {
      parts.push(this.text.slice(from, extra.from))
      from = extra.to
    }
    // A blank, because a comment may separate two tokens.
    return [...parts, this.text.slice(from)].join(" ")
  }

  private readonly visitor: JSONVisitor = {
    onObjectBegin: (_offset, _length, line, character) => this.begin(new Map(), KEY, line, character),
    onArrayBegin: (_offset, _length, line, character) => this.begin("array", VALUE, line, character),
    onObjectEnd: (offset) => this.end(offset),
    onArrayEnd: (offset) => this.end(offset),
    onObjectProperty: (name, _offset, _length, line, character) => this.key(name, line, character),
    onLiteralValue: () => this.after(),
    onSeparator: (separator, offset) => {
      this.comma = separator === "," ? offset : undefined
      this.expected = separator === "," && this.around.at(-1) !== "array" ? KEY : VALUE
    },
    onComment: (offset, length) => {
      this.extras.push({ from: offset, to: offset + length })
    },
    onError: (code, offset, _length, line, character) => {
      const message = TOKENS.get(printParseErrorCode(code)) ?? this.unexpected(offset)
      throw new Stop({ ...positionOf(line, character), message })
    }
  }

  private begin(around: Around, expected: string, line: number, character: number): void {
    this.comma = undefined
    this.around.push(around)
    this.expected = expected
    if (this.around.length > DEEPEST) {
      const message = `nested more than ${DEEPEST} levels deep`
      throw new Stop({ ...positionOf(line, character), message })
    }
  }

  private key(name: string, line: number, character: number): void {
    this.comma = undefined
    this.expected = 'a ":" after the key'
    const keys = this.around.at(-1)
    if (!(keys instanceof Map)) return
    const first = keys.get(name)
    if (first !== undefined) {
      const message = `the key ${Quote.of(name)} is there twice, first in line ${first}. Keep one of them`
      throw new Stop({ ...positionOf(line, character), message })
    }
    keys.set(name, line + 1)
  }

  /** Also called at the end of an incomplete text; the error follows. */
  private end(offset: number): void {
    if (offset >= this.text.length) return
    if (this.comma !== undefined) this.extras.push({ from: this.comma, to: this.comma + 1 })
    this.around.pop()
    this.after()
  }

  private after(): void {
    this.comma = undefined
    const around = this.around.at(-1)
    this.expected = around === undefined ? "nothing more" : around === "array" ? '"," or "]"' : '"," or "}"'
  }

  private unexpected(offset: number): string {
    const next = this.text.codePointAt(offset)
    const found = next === undefined ? "the end of the text" : JSON.stringify(String.fromCodePoint(next))
    const advice =
      this.expected === "nothing more"
        ? ". The value is complete before this"
        : this.expected === VALUE && next === SINGLE_QUOTE
          ? ". Strings are in double quotes"
          : ""
    return `found ${found}; expected ${this.expected}${advice}`
  }
}

const SINGLE_QUOTE = 39
