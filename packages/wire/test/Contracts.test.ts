/** Checks that every shape on the wire is portable to other languages and later versions. */
import { describe, expect, it } from "@effect/vitest"
import { Schema, SchemaAST } from "effect"
import * as Wire from "../src/index.ts"
import { Command } from "../src/Command.ts"
import { ConversationState } from "../src/ConversationState.ts"
import { Failure } from "../src/Failure.ts"
import { Message } from "../src/Message.ts"
import { Target } from "../src/Target.ts"
import { TurnEvent } from "../src/TurnEvent.ts"
import { TurnExplanation } from "../src/TurnExplanation.ts"
import { TurnState } from "../src/TurnState.ts"

const contracts = { Command, ConversationState, Failure, Message, Target, TurnEvent, TurnExplanation, TurnState }

/** Every part of a schema, with the path that leads to it. */
const partsOf = (ast: SchemaAST.AST, path: string, seen = new Set<SchemaAST.AST>()): ReadonlyArray<Part> => {
  if (seen.has(ast)) return []
  seen.add(ast)
  const inner = (child: SchemaAST.AST, name: string) => partsOf(child, `${path}.${name}`, seen)
  const self = { ast, path }
  if (SchemaAST.isObjects(ast)) {
    return [self, ...ast.propertySignatures.flatMap(({ name, type }) => inner(type, String(name)))]
  }
  if (SchemaAST.isUnion(ast)) return [self, ...ast.types.flatMap((type, index) => inner(type, String(index)))]
  if (SchemaAST.isArrays(ast)) return [self, ...[...ast.elements, ...ast.rest].flatMap((type) => inner(type, "[]"))]
  return [self]
}

interface Part {
  readonly ast: SchemaAST.AST
  readonly path: string
}

const parts = Object.entries(contracts).flatMap(([name, { ast }]) => partsOf(ast, name))

/** The arguments and result of a tool, and a report, are any JSON. */
const FREE = /\.(input|output|report\.content)\b/

describe("every contract", () => {
  it("is made of parts that a check can reach", () => {
    expect(parts.length).toBeGreaterThan(100)
  })

  it("defines all its values: none is any or unknown", () => {
    const open = parts.filter(({ ast }) => SchemaAST.isAny(ast) || SchemaAST.isUnknown(ast))
    expect(open.map(({ path }) => path)).toEqual([])
  })

  it("leaves out absent values: none is null or undefined", () => {
    const empty = parts.filter(
      ({ ast, path }) => (SchemaAST.isUndefined(ast) || SchemaAST.isNull(ast)) && !FREE.test(path)
    )
    expect(empty.map(({ path }) => path)).toEqual([])
  })

  it("has only numbers that JSON supports: none may be infinite or NaN", () => {
    const numbers = parts.filter(({ ast, path }) => SchemaAST.isNumber(ast) && !FREE.test(path))
    expect(numbers.length).toBeGreaterThan(10)
    const loose = numbers.filter(({ ast }) => Schema.is(Schema.make(ast))(Number.NaN))
    expect(loose.map(({ path }) => path)).toEqual([])
  })

  it("has the same form on the wire and in memory, so that encoding is JSON.stringify", () => {
    const encoded = parts.filter(({ ast }) => ast.encoding !== undefined)
    expect(encoded.map(({ path }) => path)).toEqual([])
  })
})

it("the main entry does not load the HTTP API", () => {
  expect(Object.keys(Wire)).toEqual([
    "Checks",
    "Command",
    "Commands",
    "ConversationState",
    "Count",
    "DefaultAddress",
    "defined",
    "DryRunFigures",
    "DryRunReport",
    "EffectiveConfiguration",
    "Failure",
    "FilePart",
    "Health",
    "HeldCall",
    "Ids",
    "JsonShape",
    "LongJson",
    "Labels",
    "Message",
    "Millis",
    "Moment",
    "Ndjson",
    "PeriodReport",
    "Printable",
    "Prompt",
    "Quote",
    "Redaction",
    "Rfc3339",
    "Sse",
    "Target",
    "Text",
    "TurnEvent",
    "TurnCourse",
    "TurnExplanation",
    "TurnState"
  ])
})
