/** Reads the facts of a Dockerfile that its checks compare with the repository. */
import { DockerfileParser, ModifiableInstruction } from "dockerfile-ast"

/** One instruction of the file. */
export interface Instruction {
  /** In capitals. */
  readonly keyword: string
  /** Without flags. Of the exec form, its strings. */
  readonly words: ReadonlyArray<string>
  readonly flags: { readonly [name: string]: string }
  /** Whether it is written as a list, so that no shell runs it. */
  readonly isExecForm: boolean
}

/** All instructions, in their order. */
export const parse = (text: string): ReadonlyArray<Instruction> =>
  DockerfileParser.parse(text)
    .getInstructions()
    .map((instruction) => {
      const isModifiable = instruction instanceof ModifiableInstruction
      const strings = execForm(instruction.getRawArgumentsContent() ?? "")
      return {
        keyword: instruction.getKeyword(),
        words: strings ?? instruction.getArguments().map((argument) => argument.getValue()),
        flags: Object.fromEntries(
          isModifiable ? instruction.getFlags().map((flag) => [flag.getName(), flag.getValue() ?? ""]) : []
        ),
        isExecForm: strings !== undefined
      }
    })

/** The instructions with this keyword. */
export const all = (file: ReadonlyArray<Instruction>, keyword: string): ReadonlyArray<Instruction> =>
  file.filter((instruction) => instruction.keyword === keyword)

/** The last instruction with this keyword. It replaces earlier ones. */
export const last = (file: ReadonlyArray<Instruction>, keyword: string): Instruction => {
  const found = all(file, keyword).at(-1)
  if (found === undefined) throw new Error(`The Dockerfile has no ${keyword}.`)
  return found
}

/** The variables that the image sets. */
export const environment = (file: ReadonlyArray<Instruction>): { readonly [name: string]: string } =>
  Object.fromEntries(
    all(file, "ENV")
      .flatMap(({ words }) => words)
      .map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)])
  )

// --- internal

/** The strings of a list at the end of an instruction. */
const execForm = (text: string): ReadonlyArray<string> | undefined => {
  const list = /\[.*\]$/s.exec(text.trim())?.[0]
  if (list === undefined) return undefined
  const strings: unknown = JSON.parse(list)
  return Array.isArray(strings) ? strings.map(String) : undefined
}
