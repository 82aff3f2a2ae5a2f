/** Reads the options of a systemd unit file. */

/** One line `Name=value` of a section. */
export interface Option {
  readonly section: string
  readonly name: string
  readonly value: string
}

/** All options, in their order. Throws at a line that systemd would ignore. */
export const parse = (text: string): ReadonlyArray<Option> => {
  const options: Array<Option> = []
  let section: string | undefined
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(?:[#;].*)?$/.test(line)) continue
    const title = /^\[(\w+)\]$/.exec(line)?.[1]
    const option = /^(\w+)=(.*)$/.exec(line)
    if (title !== undefined) section = title
    else if (option !== null && section !== undefined)
      options.push({ section, name: option[1] ?? "", value: option[2] ?? "" })
    else throw new Error(`Line ${index + 1} of the unit is neither a section nor an option: ${line}`)
  }
  return options
}

/** The values of an option, in their order. */
export const valuesOf = (unit: ReadonlyArray<Option>, name: string): ReadonlyArray<string> =>
  unit.filter((option) => option.name === name).map(({ value }) => value)
