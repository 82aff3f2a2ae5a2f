/**
 * Makes the JSON Schema of the lines of `holdfast rpc` from the schemas that the program decodes with. Pure.
 *
 * RpcSchema.S1. Commands are closed; responses and events are open, because a later version may add keys.
 */
import { RpcLines } from "@holdfast/wire/rpc"
import { JsonSchema, Schema } from "effect"

/** The whole schema: `definitions.command` is a line that is read, `definitions.output` a line that is written. */
export const make = (): JsonSchema.JsonSchema => {
  const command = JsonSchema.toDocumentDraft07(
    Schema.toJsonSchemaDocument(RpcLines.RpcCommand, { onExcessProperty: "error" })
  )
  const output = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(RpcLines.RpcOutput))
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The lines of holdfast rpc",
    description: "docs/rpc.md describes them.",
    anyOf: [{ $ref: "#/definitions/command" }, { $ref: "#/definitions/output" }],
    definitions: {
      ...command.definitions,
      ...output.definitions,
      command: command.schema,
      output: output.schema
    }
  }
}
