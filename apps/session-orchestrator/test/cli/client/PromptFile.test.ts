import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import * as PromptFile from "../../../src/cli/client/PromptFile.ts"
import * as Law from "../../Law.ts"

const entries = (text: string, name = "prompts.txt", shared: PromptFile.SharedFields = {}, salt?: string) =>
  Result.getOrThrow(PromptFile.parse(text, name, shared, salt))

const problem = (text: string, name = "prompts.jsonl"): string => {
  const parsed = PromptFile.parse(text, name, {})
  return Result.isFailure(parsed) ? parsed.failure : expect.fail("it was taken")
}

describe("a file of prompts", () => {
  it("is one prompt a line; blank lines, a byte order mark and Windows' line breaks are no part of them", () => {
    const found = entries("\uFEFFWhy?\r\n\r\n  How?  \n", "p.txt", { model: "a/b" })
    const shown = found.map(({ line, turn: { model, prompt } }) => JSON.stringify([line, prompt, model]))
    expect(shown).toEqual(['[1,"Why?","a/b"]', '[3,"How?","a/b"]'])
  })

  it("is JSON by its name, or else by its first line; a line's own settings win", () => {
    const line = '{"prompt":"Why?","id":"q-1","model":"c/d","retry":{"profile":"interactive"}}'
    for (const name of ["prompts.jsonl", "Standard input"]) {
      expect(entries(line, name, { model: "a/b", system: "Be brief." }).map(({ turn }) => turn)).toEqual([
        { prompt: "Why?", turnId: "q-1", model: "c/d", system: "Be brief.", retry: { profile: "interactive" } }
      ])
    }
  })

  it("is refused where a line of JSON would become a prompt, with what to do", () => {
    for (const line of ['{"prompt":"Why?","id":"q-1"}', '{ "prompt": "cut of', '{"a":1}']) {
      for (const name of ["prompts.txt", "notes.md", "Standard input"]) {
        const found = problem(`How?\n${line}`, name)
        expect(found).toContain("line 2: it is JSON")
        expect(found).toContain("Rename the file to end in .jsonl")
        expect(found).not.toContain("line 1")
      }
    }
    expect(entries('{x} is a set\n[1, 2] is a list\n"Why?"\n42').map(({ line }) => line)).toEqual([1, 2, 3, 4])
  })

  it("is refused whole, with every mistake and its line", () => {
    const text = ['{"prompt":""}', "Why?", '{"prompt":"a","id":"no id"}', '{"prompt":"b","modell":0}', '{"prompt":"c"}']
    const found = problem(text.join("\n"))
    expect(found.split("\n")).toHaveLength(5)
    for (const part of ["line 1: prompt: ", "line 2: expected a JSON object", "line 3: id: ", "line 4: modell: "]) {
      expect(found).toContain(part)
    }
    expect(problem('{"prompt":"a","id":"x"}\n{"prompt":"b","id":"x"}')).toContain(
      'line 2: its id "x" is that of line 1 as well'
    )
    expect(problem("\n \n")).toContain("no prompt")
    const wrong = (lines: number) => problem(Array.from({ length: lines }, () => "x").join("\n"))
    expect(wrong(20)).not.toContain("more")
    expect(wrong(21)).toContain("and 1 more")
  })

  it("rule X15: gives the same ids each time, and each line one of its own", () => {
    const filled = fc.string({ minLength: 1 }).filter((text) => text.trim() !== "")
    Law.holds([fc.array(filled, { minLength: 1 })], (lines) => {
      const text = lines.map((line) => line.replaceAll(/[\r\n{]/g, " ")).join("\n")
      fc.pre(text.trim() !== "")
      const ids = (salt?: string) => entries(text, "p.txt", {}, salt).map(({ turn }) => turn.turnId)
      expect(ids()).toEqual(ids())
      for (const id of ids()) expect(id).toMatch(/^line-[0-9a-f]{32}$/)
      expect(new Set(ids()).size).toBe(ids().length)
      expect(ids("again")).not.toEqual(ids())
    })
  })

  it("rule X15: other settings are other turns", () => {
    const id = (shared: PromptFile.SharedFields) => entries("Why?", "p.txt", shared)[0]?.turn.turnId
    expect(id({ model: "a/b" })).not.toBe(id({}))
  })
})
