/** Generates a JSON value as plain text, and as text with comments and trailing commas. */
import * as fc from "fast-check"

export interface Written {
  readonly plain: string
  readonly text: string
}

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/**
 * Keys without a backslash. After an object with such a key V8's `JSON.parse` may read an escaped key of another object as that key
 * (https://github.com/nodejs/node/issues/63785), so a comparison of two readings would fail now and then.
 */
const key = fc
  .oneof(fc.string(), fc.constantFrom("__proto__", "a // b", "/* */", ",]", "a.b", '"'))
  .filter((key) => !key.includes("\\"))

const value = fc.letrec<{ readonly any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, -1.5e-7, 12, "", "// no comment", "/* none */", ",}"),
    fc.string(),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(key, tie("any"), { maxKeys: 4, noNullPrototype: true })
  )
})).any

/** Text that may separate two tokens. */
const space = fc.constantFrom(
  ...'| |\n|\r\n|\r|\t|// a\n|//\r\n|/**/|/* a, ] } */|/* "x": // */|/*\n\n*/ |// { [ ,\r'.split("|")
)

/** Draws the text between tokens, and whether there is a comma before an end. */
export const arbitrary: fc.Arbitrary<Written> = fc
  .tuple(value, fc.infiniteStream(space), fc.infiniteStream(fc.boolean()))
  .map(([json, spaces, commas]) => {
    const gap = (): string => spaces.next().value ?? ""
    const comma = (count: number): string => (count > 0 && commas.next().value === true ? `${gap()},` : "")
    const write = (json: Json): string => {
      if (Array.isArray(json)) {
        const elements = json.map(write)
        return `[${gap()}${elements.join(`${gap()},${gap()}`)}${comma(elements.length)}${gap()}]`
      }
      if (typeof json === "object" && json !== null) {
        const members = Object.entries(json).map(
          ([key, value]) => `${JSON.stringify(key)}${gap()}:${gap()}${write(value)}`
        )
        return `{${gap()}${members.join(`${gap()},${gap()}`)}${comma(members.length)}${gap()}}`
      }
      return JSON.stringify(json)
    }
    return { plain: JSON.stringify(json), text: `${gap()}${write(json)}${gap()}` }
  })
