/**
 * Writes pictures as SVG: one file, readable in light and dark, with no script, no font and no address to load. Pure.
 *
 * Every text and every attribute is escaped, so a model's name cannot become markup.
 */
import * as Prose from "./Prose.ts"

/** The attributes of an element. Those without a value are left out. */
type Attributes = Readonly<Record<string, string | number | undefined>>

/** The colours of shapes, by what they stand for. */
export type ShapeColor = "good" | "bad" | "warn" | "idle" | "line"

/** An element with its children, as text. */
export const element = (name: string, attributes: Attributes, children: ReadonlyArray<string> = []): string => {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escaped(numbered(value))}"`]
  )
  return children.length === 0
    ? `<${name}${written.join("")}/>`
    : `<${name}${written.join("")}>${children.join("")}</${name}>`
}

/** A line of text at a place. */
export const text = (x: number, y: number, words: string, attributes: Attributes = {}): string =>
  element("text", { x, y, ...attributes }, [escaped(words)])

/** The headline of a picture or of a part of it. */
export const heading = (x: number, y: number, words: string): string => text(x, y, words, { class: "head" })

/** A rectangle with a text that a pointer over it shows. */
export const bar = (
  { height, width, x, y }: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  color: ShapeColor,
  title: string
): string => element("rect", { class: color, x, y, width, height }, [element("title", {}, [escaped(title)])])

/** A line along the path `d`. */
export const path = (d: string, color: ShapeColor, attributes: Attributes = {}): string =>
  element("path", { class: color, d, ...attributes })

/** A whole picture. `description` has its content in words, for people who do not see it. */
export const document = (
  {
    description,
    height,
    title,
    width
  }: { readonly width: number; readonly height: number; readonly title: string; readonly description?: string },
  children: ReadonlyArray<string>
): string =>
  `${element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-labelledby": description === undefined ? "t" : "t d"
    },
    [
      element("title", { id: "t" }, [escaped(title)]),
      ...(description === undefined ? [] : [element("desc", { id: "d" }, [escaped(description)])]),
      element("style", {}, [STYLE]),
      element("rect", { class: "page", x: 0, y: 0, width, height }),
      ...children,
      ""
    ].map((line) => `\n${line}`)
  )}\n`

/** The place of a moment between `left` and `right`; moments before `from` and after `to` are at the ends. */
export const scale =
  (
    { from, to }: { readonly from: number; readonly to: number },
    { left, right }: { readonly left: number; readonly right: number }
  ): ((at: number) => number) =>
  (at) =>
    left + ((Math.min(to, Math.max(from, at)) - from) / Math.max(1, to - from)) * (right - left)

/** Places ticks on a span of time at whole steps, about `most` of them. */
export const ticks = (from: number, to: number, most: number): ReadonlyArray<number> => {
  const step = STEPS.find((step) => (to - from) / step <= most) ?? Math.ceil((to - from) / most / DAY) * DAY
  const first = Math.ceil(from / step) * step
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => first + i * step)
}

// --- internal

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  ...[1, 5, 10, 30].map((n) => n * SECOND),
  ...[1, 5, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  DAY
]

/** A shape takes its class's colour: rectangles are filled with it, lines are drawn in it. */
const STYLE = [
  "text{fill:#1f2328;font:12px system-ui,sans-serif}.head{font-weight:600}.muted{fill:#59636e}",
  "rect{fill:currentColor}path{fill:none;stroke:currentColor}",
  ".page{color:#fff}.line{color:#d1d9e0}.good{color:#2da44e}.bad{color:#cf222e}.warn{color:#bf8700}.idle{color:#9aa6b6}",
  "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.muted{fill:#9198a1}",
  ".page{color:#0d1117}.line{color:#3d444d}.good{color:#3fb950}.bad{color:#f85149}.warn{color:#d29922}.idle{color:#6b7686}}"
].join("")

/** Half a pixel and less is not seen. */
const numbered = (value: string | number): string =>
  typeof value === "number" ? String(Math.round(value * 100) / 100) : value

const escaped = (text: string): string => Prose.markup(Prose.oneLine(text))
