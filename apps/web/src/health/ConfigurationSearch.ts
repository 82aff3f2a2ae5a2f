/** Finds keys of the configuration in force, and names their sources. Pure. */
import type { EffectiveConfiguration } from "@holdfast/wire"

/** Where a value is from: `default`, `profile overnight`, `holdfast.config.json, line 9`. */
export const sourceOf = ({ from, line, name }: EffectiveConfiguration.Source): string => {
  switch (from) {
    case "default":
      return "default"
    case "profile":
      return `profile ${name ?? ""}`.trimEnd()
    case "file":
      return `${name ?? "the file"}${line === undefined ? "" : `, line ${line}`}`
    case "environment":
    case "flag":
      return name ?? from
    default:
      return from satisfies never
  }
}

/** The entries that have every word of a text in their key, value or source. */
export const found = (
  entries: ReadonlyArray<EffectiveConfiguration.Entry>,
  text: string
): ReadonlyArray<EffectiveConfiguration.Entry> => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return entries.filter(({ key, source, value }) => {
    const all = `${key}\n${value}\n${sourceOf(source)}`.toLowerCase()
    return words.every((word) => all.includes(word))
  })
}
