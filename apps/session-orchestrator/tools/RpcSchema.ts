/**
 * Makes the JSON Schemas of the lines of `holdfast rpc`, and of the messages of `/v1/ws`, from the schemas that the program decodes with. Pure.
 *
 * RpcSchema.S1. Commands are closed; responses and events are open, because a later version may add keys.
 */
import { RpcLines, SocketMessages } from "@holdfast/wire/rpc"
import { JsonSchema, Schema } from "effect"

/** The lines: `definitions.command` is a line that is read, `definitions.output` a line that is written. */
export const ofLines = (): JsonSchema.JsonSchema =>
  make("The lines of holdfast rpc", "docs/rpc.md", RpcLines.RpcCommand, RpcLines.RpcOutput)

/** The messages: `definitions.command` is what a client sends, `definitions.output` what the server sends. */
export const ofMessages = (): JsonSchema.JsonSchema =>
  make("The messages of /v1/ws", "docs/websocket.md", SocketMessages.SocketCommand, SocketMessages.SocketMessage)

// --- internal

const make = (
  title: string,
  page: string,
  read: Schema.Constraint,
  written: Schema.Constraint
): JsonSchema.JsonSchema => {
  const command = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(read, { onExcessProperty: "error" }))
  const output = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(written))
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title,
    description: `${page} describes them.`,
    anyOf: [{ $ref: "#/definitions/command" }, { $ref: "#/definitions/output" }],
    definitions: {
      ...command.definitions,
      ...output.definitions,
      command: command.schema,
      output: output.schema
    }
  }
}
