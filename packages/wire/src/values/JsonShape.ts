/**
 * Measures the size and nesting of foreign JSON before recursive code reads it.
 *
 * `JSON.parse` reads any depth; `JSON.stringify`, schemas and most code that walks a value recurse, and overflow the stack at a few
 * thousand levels. Everything here is iterative.
 *
 * An array or object is one level; `{"a":[1]}` has two, a number none. The work is bounded: each value counts at least one character,
 * and measuring stops at either limit. A cycle is too deep.
 */
import type * as Schema from "effect/Schema"

/** The most levels of a value that is accepted from outside (C11). Real arguments have fewer than ten. */
export const MOST_LEVELS = 200

/** The most values of a command or a body of the API. Files are one value each. */
export const MOST_VALUES = 10_000

/** The size of a JSON value. */
interface Measure {
  /** Characters of its strings and keys, and one for each value; more than `most` if measuring stopped there. */
  readonly characters: number
  readonly isTooDeep: boolean
}

/** Returns the value of a JSON text; `undefined`: it is none. */
export const parse = (text: string): Schema.Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Measures a value; it stops reading after `most` characters. */
export const measure = (value: unknown, most = Infinity, levels = MOST_LEVELS): Measure => {
  if (typeof value !== "object" || value === null) return { characters: lengthOf(value), isTooDeep: false }
  const open: Array<object> = [value]
  const depths = [1]
  let characters = 1
  let isTooDeep = levels < 1
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isTooDeep || characters > most) break
    const depth = (depths.pop() ?? 0) + 1
    const children: ReadonlyArray<unknown> = Array.isArray(next) ? next : Object.values(next)
    if (!Array.isArray(next)) for (const key of Object.keys(next)) characters += key.length
    for (const child of children) {
      characters += lengthOf(child)
      if (typeof child !== "object" || child === null) continue
      isTooDeep ||= depth > levels
      open.push(child)
      depths.push(depth)
    }
  }
  return { characters, isTooDeep }
}

/**
 * Returns the limit that a JSON text exceeds, in words for a refusal: "The body has …", with the member of the object that exceeds it, unless its
 * name is long or strange. The text is read before it is parsed: a value of two characters costs hundreds of bytes.
 */
export const excessOf = (text: string): string | undefined => new Scan(MOST_VALUES, MOST_LEVELS).push(text)

/** Whether JSON text is nested too deeply, read before it is parsed: parsing millions of levels costs 60 bytes each. */
export const isTextTooDeep = (text: string, levels = MOST_LEVELS): boolean =>
  new Scan(Infinity, levels).push(text) !== undefined

/** Counts the values and levels of a JSON text that arrives in pieces. Of bytes, each piece may be read as Latin-1. */
export class Scan {
  private readonly mostValues: number
  private readonly mostLevels: number
  /** The values until now. An array or object counts one in advance, which is taken back where it ends empty. */
  values = 1
  private level = 0
  /** Where the open string of the outermost value begins in the present piece; -1: in an earlier one. */
  private stringAt = -1
  /** The last string of the outermost value, and the last that was the name of a member. */
  private last: string | undefined = undefined
  private member: string | undefined = undefined
  private isInString = false
  private isEscaped = false
  private isEmpty = false
  private excess: string | undefined = undefined

  constructor(mostValues: number, mostLevels: number) {
    this.mostValues = mostValues
    this.mostLevels = mostLevels
  }

  /** Reads the next piece; returns the limit that is exceeded in words ("more than …"), and reads no further then. */
  push(text: string): string | undefined {
    this.stringAt = -1
    for (let at = 0; at < text.length && this.excess === undefined; at++) {
      if (this.isInString) at = this.stringEnd(text, at)
      else this.read(text[at] ?? "", at)
    }
    return this.excess
  }

  private read(character: string, at: number): void {
    if (character <= " ") return
    const isEmpty = this.isEmpty
    this.isEmpty = false
    if (character === '"') {
      this.isInString = true
      this.stringAt = at
    } else if (character === ":") {
      if (this.level === 1) this.member = this.last
    } else if (character === ",") {
      this.count()
    } else if (character === "[" || character === "{") {
      this.isEmpty = true
      if (++this.level > this.mostLevels) this.exceeds(`${this.mostLevels} levels`)
      else this.count()
    } else if (character === "]" || character === "}") {
      this.level--
      if (isEmpty) this.values--
    }
  }

  private count(): void {
    if (++this.values > this.mostValues) this.exceeds(`${this.mostValues} values`)
  }

  private exceeds(limit: string): void {
    const { level, member } = this
    this.excess = `more than ${limit}${level > 1 && member !== undefined ? `, in "${member}"` : ""}`
  }

  /** The place of the quote that ends the string, or the end of the piece. */
  private stringEnd(text: string, start: number): number {
    let from = this.isEscaped ? start + 1 : start
    this.isEscaped = false
    for (;;) {
      const quote = text.indexOf('"', from)
      const end = quote < 0 ? text.length : quote
      let slash = end
      while (slash > from && text[slash - 1] === "\\") slash--
      const isEscaped = (end - slash) % 2 === 1
      if (quote < 0) {
        this.isEscaped = isEscaped
        return end
      }
      if (!isEscaped) {
        this.isInString = false
        if (this.level === 1) this.last = this.named(text, quote)
        return quote
      }
      from = quote + 1
    }
  }

  /** The string that ends here, if it can be the name of a member in words for people. */
  private named(text: string, end: number): string | undefined {
    const { stringAt } = this
    if (stringAt < 0 || end - stringAt > MEMBER_CHARACTERS + 1) return undefined
    const name = text.slice(stringAt + 1, end)
    return MEMBER.test(name) ? name : undefined
  }
}

/** The JSON text of a value of any depth, cut after about `most` characters. */
export const textOf = (value: unknown, most: number): string => {
  const written: Array<string> = []
  let length = 0
  const write = (piece: string) => {
    written.push(piece)
    length += piece.length
  }
  // Last in, first out: the closing bracket of a value lies under its children.
  const todo: Array<{ readonly text: string } | { readonly value: unknown }> = [{ value }]
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if (length >= most) break
    if ("text" in next) {
      write(next.text)
    } else if (typeof next.value !== "object" || next.value === null) {
      write(JSON.stringify(next.value) ?? "null")
    } else {
      const isArray = Array.isArray(next.value)
      write(isArray ? "[" : "{")
      todo.push({ text: isArray ? "]" : "}" })
      const children = Object.entries(next.value)
      for (const [index, [key, child]] of children.toReversed().entries()) {
        const isFirst = index === children.length - 1
        todo.push({ value: child }, { text: `${isFirst ? "" : ","}${isArray ? "" : `${JSON.stringify(key)}:`}` })
      }
    }
  }
  return written.join("").slice(0, most)
}

// --- internal

/** The characters of a value without those in it. */
const lengthOf = (value: unknown): number => (typeof value === "string" ? value.length + 1 : 1)

const MEMBER_CHARACTERS = 40
const MEMBER = /^[\w.-]+$/u
