/**
 * Code with syntax colours. Loaded when a message has code of a language.
 *
 * Its parts become elements of React with classes, so neither HTML nor styles come from the text.
 */
import bash from "highlight.js/lib/languages/bash"
import cpp from "highlight.js/lib/languages/cpp"
import css from "highlight.js/lib/languages/css"
import diff from "highlight.js/lib/languages/diff"
import go from "highlight.js/lib/languages/go"
import java from "highlight.js/lib/languages/java"
import javascript from "highlight.js/lib/languages/javascript"
import json from "highlight.js/lib/languages/json"
import python from "highlight.js/lib/languages/python"
import rust from "highlight.js/lib/languages/rust"
import sql from "highlight.js/lib/languages/sql"
import typescript from "highlight.js/lib/languages/typescript"
import xml from "highlight.js/lib/languages/xml"
import yaml from "highlight.js/lib/languages/yaml"
import { createLowlight } from "lowlight"
import type { ReactNode } from "react"

/** Code in a language, by one of its names; in another one it stays as it is. */
export const Coloured = ({ language, text }: { readonly language: string; readonly text: string }): ReactNode =>
  text.length <= MOST && lowlight.registered(language) ? drawn(lowlight.highlight(language, text)) : text

// --- internal

const lowlight = createLowlight({
  bash,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml
})

/** Characters that are parsed in some milliseconds. */
const MOST = 20_000

type Tree = ReturnType<typeof lowlight.highlight>
type Part = Tree["children"][number]

const drawn = ({ children }: { readonly children: ReadonlyArray<Part> }): ReactNode =>
  children.map((part, index) =>
    part.type === "element" ? (
      <span key={index} className={classesOf(part.properties["className"])}>
        {drawn(part as { readonly children: ReadonlyArray<Part> })}
      </span>
    ) : part.type === "text" ? (
      part.value
    ) : null
  )

const classesOf = (names: unknown): string | undefined => (Array.isArray(names) ? names.join(" ") : undefined)
