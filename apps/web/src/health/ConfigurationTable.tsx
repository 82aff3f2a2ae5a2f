/** The configuration in force, with a search. */
import type { EffectiveConfiguration } from "@holdfast/wire"
import { useDeferredValue, useId, useState } from "react"

interface ConfigurationTableProps {
  readonly configuration: EffectiveConfiguration.EffectiveConfiguration
}

/** The table. Its roles are written out, because a narrow screen lays it out as blocks. */
export const ConfigurationTable = ({ configuration: { entries, file, notices, unused } }: ConfigurationTableProps) => {
  const id = useId()
  const [text, setText] = useState("")
  const found = entriesWith(entries, useDeferredValue(text))
  return (
    <section className="configuration" aria-labelledby={`${id}-head`}>
      <h2 id={`${id}-head`}>Configuration</h2>
      <p className="quiet verbatim">{file ?? "There is no configuration file."}</p>
      {notices.map((notice) => (
        <p key={notice} className="notice">
          {notice}
        </p>
      ))}
      <div role="search" aria-label="Configuration" className="configuration-search">
        <label htmlFor={`${id}-text`}>Search</label>
        <input
          id={`${id}-text`}
          type="search"
          value={text}
          placeholder="key, value or source"
          autoComplete="off"
          onChange={({ target }) => setText(target.value)}
        />
        <p className="quiet" role="status">
          {found.length === entries.length ? `${entries.length} keys` : `${found.length} of ${entries.length} keys`}
        </p>
      </div>
      <table role="table" aria-labelledby={`${id}-head`}>
        <thead role="rowgroup">
          <tr role="row">
            {["Key", "Value", "Source"].map((name) => (
              <th key={name} role="columnheader" scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {found.map(({ key, source, value }) => (
            <tr key={key} role="row">
              <th role="rowheader" scope="row">
                <code>{key}</code>
              </th>
              <td role="cell">{value}</td>
              <td role="cell" className={`source ${source.from}`}>
                {sourceOf(source)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {unused.length > 0 && <p className="quiet">Known, and without a key: {unused.join(", ")}.</p>}
    </section>
  )
}

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
export const entriesWith = (
  entries: ReadonlyArray<EffectiveConfiguration.Entry>,
  text: string
): ReadonlyArray<EffectiveConfiguration.Entry> => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return entries.filter(({ key, source, value }) => {
    const all = `${key}\n${value}\n${sourceOf(source)}`.toLowerCase()
    return words.every((word) => all.includes(word))
  })
}
