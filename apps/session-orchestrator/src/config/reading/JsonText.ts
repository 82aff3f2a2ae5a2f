/**
 * Reads JSON with comments and trailing commas: the value with the positions of its parts, or the first mistake.
 *
 * `jsonc-parser` finds the parts of the text. This file adds the wording of mistakes and refuses text that is valid JSON but no
 * configuration.
 *
 * - Text without comments and trailing commas has the value that `JSON.parse` gives it, and is refused if `JSON.parse` refuses it.
 * - A duplicate key is refused: `JSON.parse` would drop the first value silently.
 * - Nesting is limited, so a text of any depth gets an answer and not a stack overflow.
 * - A message quotes one character of the text, or a key, and never a value: a value may be a secret.
 */
import { Quote } from "@holdfast/wire"
import { Data, Result } from "effect"
import { type JSONVisitor, printParseErrorCode, visit } from "jsonc-parser"

type Path = ReadonlyArray<string | number>

/** A position in the text; line and column count from 1. */
export interface TextPosition {
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

/** A text that was read. */
export interface Document {
  readonly content: unknown
  /** The keys of objects and the elements of lists, each with its path, in the order of the text. */
  readonly places: ReadonlyArray<{ readonly path: Path; readonly position: TextPosition }>
}

/** Reads a whole text. */
export const read = (text: string): Result.Result<Document, JsonTextError> => {
  // Some editors begin a file with a byte order mark.
  const reader = new Reader(text.startsWith("\uFEFF") ? text.slice(1) : text)
  try {
    visit(reader.text, reader.visitor, { allowTrailingComma: true })
    return Result.succeed(reader)
  } catch (fault) {
    if (fault instanceof JsonTextError) return Result.fail(fault)
    throw fault
  }
}

// --- internal

/** The deepest nesting: no configuration needs more. */
const DEEPEST = 100

/** The object or list around the current position. An object has its keys so far, each with its line. */
interface Around {
  readonly value: object
  readonly lines: Map<string, number>
  key: string
}

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

/** Builds the value of one text. A mistake is thrown: `visit` itself continues after mistakes, and recurses into any depth. */
class Reader implements Document {
  readonly text: string
  content: unknown
  readonly places: Array<Document["places"][number]> = []
  private readonly around: Array<Around> = []
  private expected = VALUE

  constructor(text: string) {
    this.text = text
  }

  readonly visitor: JSONVisitor = {
    onObjectBegin: (_offset, _length, line, character, path) => this.begin({}, KEY, line, character, path()),
    onArrayBegin: (_offset, _length, line, character, path) => this.begin([], VALUE, line, character, path()),
    onObjectEnd: (offset) => this.end(offset),
    onArrayEnd: (offset) => this.end(offset),
    onObjectProperty: (name, _offset, _length, line, character, path) => this.key(name, line, character, path()),
    onLiteralValue: (value: unknown, _offset, _length, line, character, path) => {
      this.put(value, line, character, path())
      this.after()
    },
    onSeparator: (separator) => {
      this.expected = separator === "," && !Array.isArray(this.around.at(-1)?.value) ? KEY : VALUE
    },
    onError: (code, offset, _length, line, character) =>
      refuse(line, character, TOKENS.get(printParseErrorCode(code)) ?? this.unexpected(offset))
  }

  private begin(value: object, expected: string, line: number, character: number, path: Path): void {
    this.put(value, line, character, path)
    this.expected = expected
    if (this.around.push({ value, lines: new Map(), key: "" }) > DEEPEST)
      refuse(line, character, `nested more than ${DEEPEST} levels deep`)
  }

  private key(name: string, line: number, character: number, path: Path): void {
    this.expected = 'a ":" after the key'
    const around = this.around.at(-1)
    if (around === undefined) return
    const first = around.lines.get(name)
    if (first !== undefined)
      refuse(line, character, `the key ${Quote.of(name)} is there twice, first in line ${first}. Keep one of them`)
    around.lines.set(name, line + 1)
    around.key = name
    this.places.push({ path: [...path, name], position: positionOf(line, character) })
  }

  private put(value: unknown, line: number, character: number, path: Path): void {
    const around = this.around.at(-1)
    if (around === undefined) this.content = value
    else if (Array.isArray(around.value)) {
      around.value.push(value)
      this.places.push({ path, position: positionOf(line, character) })
    } else {
      // An assignment to `__proto__` would make no key.
      Object.defineProperty(around.value, around.key, { value, configurable: true, enumerable: true, writable: true })
    }
  }

  /** Also called at the end of an incomplete text; the error follows. */
  private end(offset: number): void {
    if (offset >= this.text.length) return
    this.around.pop()
    this.after()
  }

  private after(): void {
    const around = this.around.at(-1)
    this.expected = around === undefined ? "nothing more" : Array.isArray(around.value) ? '"," or "]"' : '"," or "}"'
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

const positionOf = (line: number, character: number): TextPosition => ({ line: line + 1, column: character + 1 })

const refuse = (line: number, character: number, message: string): never => {
  throw new JsonTextError({ ...positionOf(line, character), message })
}

const SINGLE_QUOTE = 39
