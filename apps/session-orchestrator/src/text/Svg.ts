/**
 * Writes pictures as SVG: one file, readable in light and dark, without scripts and without fonts of its own. Pure.
 *
 * Svg.S1. Every text and every attribute is escaped, so a model's name cannot become markup.
 */
import * as Prose from "./Prose.ts"

/** The attributes of an element. */
export type Attributes = Readonly<Record<string, string | number>>

/** An element with its children, as text. */
export const element = (name: string, attributes: Attributes, children: ReadonlyArray<string> = []): string => {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(numbered(value))}"`)
  return children.length === 0
    ? `<${name}${written.join("")}/>`
    : `<${name}${written.join("")}>${children.join("")}</${name}>`
}

/** A line of text at a place. */
export const text = (x: number, y: number, words: string, attributes: Attributes = {}): string =>
  element("text", { x, y, ...attributes }, [escaped(words)])

/** A rectangle with a text that a pointer over it shows. */
export const bar = (
  { height, width, x, y }: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  style: string,
  title: string
): string => element("rect", { class: style, x, y, width, height }, [element("title", {}, [escaped(title)])])

/** A whole picture. Its classes: `muted`, `line`, `good`, `bad`, `wait`. */
export const document = (
  { height, title, width }: { readonly width: number; readonly height: number; readonly title: string },
  children: ReadonlyArray<string>
): string =>
  `${element(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
    [
      element("title", {}, [escaped(title)]),
      element("style", {}, [STYLE]),
      element("rect", { class: "page", x: 0, y: 0, width, height }),
      ...children
    ]
  )}\n`

/** Places ticks on a span of time at whole steps, about `most` of them. */
export const ticks = (from: number, to: number, most: number): ReadonlyArray<number> => {
  const step = STEPS.find((step) => (to - from) / step <= most) ?? Math.ceil((to - from) / most / DAY) * DAY
  const first = Math.ceil(from / step) * step
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => first + i * step)
}

// --- internal

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY]

const STYLE = [
  ".page{fill:#fff}text{fill:#1f2328;font:13px system-ui,sans-serif}.muted{fill:#59636e}.line{stroke:#d1d9e0}",
  ".good{fill:#2da44e}.bad{fill:#cf222e}.wait{fill:#bf8700}",
  "@media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#f0f6fc}.muted{fill:#9198a1}.line{stroke:#3d444d}",
  ".good{fill:#3fb950}.bad{fill:#f85149}.wait{fill:#d29922}}"
].join("")

/** Half a pixel and less is not seen. */
const numbered = (value: string | number): string =>
  typeof value === "number" ? String(Math.round(value * 100) / 100) : value

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string =>
  Prose.oneLine(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "")
