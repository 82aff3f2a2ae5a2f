/**
 * Draws a formula as MathML, which the browser lays out. Loaded when a message has one.
 *
 * Temml is a KaTeX whose MathML is what browsers have of it: letters of other alphabets are characters, and frames are styles. It makes
 * elements, and sets their styles one by one, as the page's policy allows; it never makes HTML from text. Commands that load,
 * link or name are refused.
 */
import temml from "temml"
import * as Formulas from "./Formulas.ts"
import "./math-ml.css"

/** Settings of a formula that a model has written. */
export const SETTINGS = { throwOnError: true, trust: false, maxSize: [20, 200] as [number, number], maxExpand: 200 }

/** Characters of a formula that is laid out in some milliseconds: fewer where it defines commands, because each use repeats them. */
const mostOf = (source: string): number =>
  /\\(?:[gex]?def|(?:re)?newcommand|providecommand)/.test(source) ? 500 : 5_000

/** Draws a formula into an element; a formula with mistakes stays text. */
export const draw = (place: HTMLElement, source: string): void => {
  const { isDisplay, tex } = Formulas.read(source)
  try {
    if (source.length <= mostOf(source)) temml.render(tex, place, { ...SETTINGS, displayMode: isDisplay })
  } catch {
    place.textContent = source
  }
}
