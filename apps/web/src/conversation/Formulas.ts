/**
 * Finds the formulas of a Markdown text: `$x$`, `\(x\)`, `$$x$$` and `\[x\]`. Pure.
 *
 * A formula is code of the language `formula`, with its marks. Without its end it is text, so a price and the name of a shell's
 * variable stay text, and half a formula that is arriving is drawn once, when it is whole.
 */
import type { Extension as FromMarkdown } from "mdast-util-from-markdown"
import type { Code, Construct, Extension, State, TokenizeContext } from "micromark-util-types"
import type { Plugin } from "unified"

/** The language of a formula as code. */
export const LANGUAGE = "formula"

/** The language of a formula whose end has not arrived. */
export const ARRIVING = "formula-arriving"

/** Whether code of several lines is a formula. A formula of a spreadsheet is of that language too, and has no marks. */
export const isDrawn = (language: string | undefined, code: string): boolean =>
  language === ARRIVING || (language === LANGUAGE && /^\s*(?:\$\$|\\\[)/.test(code))

/** The mark that ends the formula that begins with a line and goes on behind it; `undefined` where none does. */
export const endOf = (line: string): "$$" | "\\]" | undefined => {
  const [, mark, rest = ""] = OPENING.exec(line) ?? []
  const end = mark === undefined ? undefined : mark === "$$" ? "$$" : "\\]"
  // Dollars are also the number of a process: a formula behind them has a command, or lines of its own.
  const isFormula = mark !== "$$" || rest.trim() === "" || /\\[a-z]/i.test(rest)
  return end === undefined || !isFormula || rest.includes(end) ? undefined : end
}

/** A text whose formulas of several lines are fenced code, in which no line is a list, a quotation or a heading. */
export const fenced = (text: string, isArriving: boolean): string => {
  if (!/\$\$|\\\[/.test(text)) return text
  const lines = text.split("\n")
  const out: Array<string> = []
  const missing = new Set<string>()
  let code: string | undefined = undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ""
    code = fenceAfter(code, line)
    const end = code === undefined ? endOf(line) : undefined
    const isSought = end !== undefined && !missing.has(end)
    const to = isSought ? lines.findIndex((line, index) => index > at && line.includes(end)) : -1
    if (isSought && to === -1) missing.add(end)
    if (end === undefined || (to === -1 && !isArriving)) {
      out.push(line)
      continue
    }
    const margin = /^[ >]*/.exec(line)?.[0] ?? ""
    const inside = lines.slice(at, to === -1 ? lines.length : to + 1)
    const last = inside.at(-1) ?? ""
    const behind = to === -1 ? "" : last.slice(last.indexOf(end ?? "") + end.length)
    if (to !== -1) inside[inside.length - 1] = last.slice(0, last.length - behind.length)
    out.push(`${margin}${FENCE}${to === -1 ? ARRIVING : LANGUAGE}`, ...inside, `${margin}${FENCE}`)
    if (behind.trim() !== "") out.push(`${margin}${behind.trim()}`)
    at += inside.length - 1
  }
  return out.join("\n")
}

/** The fence of the code that a text is in behind a line, from the one before it. */
export const fenceAfter = (fence: string | undefined, line: string): string | undefined => {
  const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
  if (mark === undefined || fence === undefined) return fence ?? mark
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark ? undefined : fence
}

/** The plugin of remark for formulas within a line. */
export const inLines: Plugin<[{ readonly isArriving: boolean }]> = function ({ isArriving }) {
  const data = this.data() as { micromarkExtensions?: Array<Extension>; fromMarkdownExtensions?: Array<FromMarkdown> }
  const construct = formula(isArriving)
  ;(data.micromarkExtensions ??= []).push({ text: { [DOLLAR]: construct, [BACKSLASH]: construct } })
  ;(data.fromMarkdownExtensions ??= []).push({
    enter: {
      [TOKEN](token) {
        const properties = { className: [`language-${LANGUAGE}`] }
        this.enter({ type: "inlineCode", value: "", data: { hProperties: properties } }, token)
        this.buffer()
      },
      [LINE](token) {
        this.config.enter.data?.call(this, token)
      }
    },
    exit: {
      [LINE](token) {
        this.config.exit.data?.call(this, token)
      },
      [TOKEN](token) {
        const value = this.resume()
        Object.assign(this.stack.at(-1) ?? {}, { value })
        this.exit(token)
      }
    }
  })
}

/** A formula without its marks, and whether it has a line of its own. */
export const read = (source: string): { readonly isDisplay: boolean; readonly tex: string } => {
  const text = source.trim()
  const isDisplay = text.startsWith("$$") || text.startsWith("\\[")
  const size = isDisplay || text.startsWith("\\(") ? 2 : 1
  return { isDisplay, tex: text.slice(size, -size) }
}

// --- internal

const OPENING = /^[ >]*(\$\$|\\\[)(.*)$/

/** Longer than a fence in a formula could be. */
const FENCE = "~~~~~~~~~~~~"

const DOLLAR = 36
const BACKSLASH = 92
const GRAVE = 96

/** Names of this module among micromark's tokens: a formula, and what it has of a line. */
const TOKEN = "formula" as never
const LINE = "formulaLine" as never

const isSpace = (code: Code): boolean => code === null || code < 0 || code === 32
const isWord = (code: Code): boolean => code !== null && /[\p{L}\p{N}$]/u.test(String.fromCodePoint(Math.max(code, 0)))

/** An amount of money, and words: `5, i.e. 5`. One letter is a variable. */
const AMOUNT = /^\d[\d.,]*[,;:]?\s+\p{L}[\p{L}.]+\s/u

/** The ends that a text was searched for up to its own end, in vain: none is searched for twice. */
const missing = new WeakMap<TokenizeContext, Set<number>>()

const formula = (isArriving: boolean): Construct => ({
  name: TOKEN,
  tokenize(effects, ok, nok) {
    let previous: Code = null
    let tight = ""
    const absent = missing.get(this) ?? new Set()
    missing.set(this, absent)
    const take = (code: Code, next: State): State => {
      // In lists and quotations a line's end is a token of its own, and a line begins with its first character.
      const isBreak = code !== null && code < -2
      if (isBreak) effects.exit(LINE)
      if (isBreak) effects.enter("lineEnding")
      else if (previous === null || previous < -2) effects.enter(LINE)
      effects.consume(code)
      if (isBreak) effects.exit("lineEnding")
      previous = code
      return next
    }
    const finish: State = (code) => {
      effects.exit(LINE)
      effects.exit(TOKEN)
      return ok(code)
    }
    const open: State = (code) => {
      effects.enter(TOKEN)
      return take(code, code === DOLLAR ? dollar : backslash)
    }
    const dollar: State = (code) =>
      code === DOLLAR ? take(code, within(DOLLAR, DOLLAR)) : isSpace(code) ? nok(code) : oneDollar(code)
    // One dollar is also money, or a variable: its formula is on one line, tight between its marks, and no word follows.
    const oneDollar: State = (code) => {
      if (code === null || code < -2 || code === GRAVE) return nok(code)
      if (code === DOLLAR) return isSpace(previous) || AMOUNT.test(tight) ? nok(code) : take(code, behindDollar)
      tight += String.fromCodePoint(Math.max(code, 0))
      return take(code, code === BACKSLASH ? escaped(oneDollar) : oneDollar)
    }
    const behindDollar: State = (code) => (isWord(code) || (isArriving && code === null) ? nok(code) : finish(code))
    const backslash: State = (code) =>
      code === 40 ? take(code, within(BACKSLASH, 41)) : code === 91 ? take(code, within(BACKSLASH, 93)) : nok(code)
    const escaped =
      (next: State): State =>
      (code) =>
        code === null ? nok(code) : take(code, next)
    const within = (first: number, second: number): State => {
      const inside: State = (code) => {
        if (code !== null) return take(code, code === first ? end : code === BACKSLASH ? escaped(inside) : inside)
        absent.add(second)
        return nok(code)
      }
      const end: State = (code) => (code === null ? inside(code) : take(code, code === second ? finish : inside))
      return absent.has(second) ? nok : inside
    }
    return open
  }
})
