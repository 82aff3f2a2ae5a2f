/**
 * Defines the API's errors as RFC 9457 problem details (`application/problem+json`).
 *
 * A problem's `type` links to its explanation: a section of the page at `/docs`, so the link works wherever the service runs. `title` is
 * the same for all problems of a type; `detail` describes the occurrence and what to do about it.
 *
 * No problem contains a stack trace, a file name or a secret: an unexpected one has an `incident`, and the log has the rest under the same
 * id.
 */
import * as Schema from "effect/Schema"
import * as Str from "effect/String"
import { HttpApiError } from "effect/http-api"
import { type Kebab, kebab } from "../Commands.ts"

/** One mistake in a request. */
export const Issue = Schema.Struct({
  /** The part of the request that contains the mistake. */
  in: Schema.Literals(["body", "path", "query", "header"]),
  /** The path of the key, joined by dots; empty for the whole part. */
  path: Schema.String.annotate({ examples: ["prompt"] }),
  /** The expectation. It repeats what was sent only where that is a setting, and no secret. */
  message: Schema.String.annotate({ examples: ["Missing key"] })
}).annotate({ identifier: "Issue" })
export type Issue = typeof Issue.Type

/** A class of problems. Its name is in the tag, and in the link of its type, to the section of /docs that explains it. */
const problem =
  <Self>() =>
  <
    const Name extends string,
    const Status extends number,
    const Fields extends HttpApiError.ProblemExtensionFields = {}
  >(
    name: Name,
    status: Status,
    { description, fields, title }: { readonly title: string; readonly description: string; readonly fields?: Fields }
  ) => {
    const type: `/docs#problem-${Kebab<Uncapitalize<Name>>}` = `/docs#problem-${kebab(Str.uncapitalize(name))}`
    return HttpApiError.Problem<Self>()(`${name}Problem`, { type, status, title }, fields, { description })
  }

/** The request does not match the call's schema; `errors` names each mistake. */
export class InvalidRequest extends problem<InvalidRequest>()("InvalidRequest", 400, {
  title: "The request is not valid",
  description: "The request does not match the call's schema; `errors` names each mistake.",
  fields: { errors: Schema.optionalKey(Schema.Array(Issue)) }
}) {}

/** The call needs the service's token. */
export class Unauthorized extends problem<Unauthorized>()("Unauthorized", 401, {
  title: "A token is needed",
  description: "The service has a token, and the request has none or a different one."
}) {}

/** The `Host` or the `Origin` is not allowed. */
export class Forbidden extends problem<Forbidden>()("Forbidden", 403, {
  title: "Not from there",
  description:
    "The `Host` header is not a name of this service, or the request comes from a page of another origin. This prevents web pages that a person visits from calling a service on that person's machine."
}) {}

/** No call has this path. */
export class NotFound extends problem<NotFound>()("NotFound", 404, {
  title: "There is no such call",
  description: "No call has this path."
}) {}

/** No conversation has this id. */
export class ConversationNotFound extends problem<ConversationNotFound>()("ConversationNotFound", 404, {
  title: "There is no such conversation",
  description: "No conversation has this id.",
  fields: { conversationId: Schema.String }
}) {}

/** No turn has this id. */
export class TurnNotFound extends problem<TurnNotFound>()("TurnNotFound", 404, {
  title: "There is no such turn",
  description: "No turn has this id, or no turn of the conversation that the call names.",
  fields: {
    /** Absent where the call names no conversation. */
    conversationId: Schema.optionalKey(Schema.String),
    turnId: Schema.String
  }
}) {}

/** The path exists for other methods; the `Allow` header names them. */
export class MethodNotAllowed extends problem<MethodNotAllowed>()("MethodNotAllowed", 405, {
  title: "Not with this method",
  description: "The path exists for other methods; the `Allow` header names them."
}) {}

/** The request did not arrive completely within the time limit. */
export class RequestTimeout extends problem<RequestTimeout>()("RequestTimeout", 408, {
  title: "The request did not arrive in time",
  description: "The head or the body of the request was sent too slowly."
}) {}

/** The turn id belongs to another turn, or there is nothing to retry. */
export class TurnConflict extends problem<TurnConflict>()("TurnConflict", 409, {
  title: "The turn cannot be taken",
  description: "The turn id belongs to another turn, or there is nothing to retry."
}) {}

/** The body is larger than the service's limit. */
export class BodyTooLarge extends problem<BodyTooLarge>()("BodyTooLarge", 413, {
  title: "The body is too large",
  description: "The body is larger than `limitBytes`.",
  fields: { limitBytes: Schema.Int }
}) {}

/** A file of the prompt is larger than the service's limit. */
export class FileTooLarge extends problem<FileTooLarge>()("FileTooLarge", 413, {
  title: "A file is too large",
  description: "A file of the prompt has more than `limitBytes`; `part` is its place in the body.",
  fields: {
    /** Its place in the body, such as `prompt[1]`. */
    part: Schema.String,
    sizeBytes: Schema.Int,
    limitBytes: Schema.Int
  }
}) {}

/** The body is not JSON, or its `Content-Type` is not. */
export class UnsupportedMediaType extends problem<UnsupportedMediaType>()("UnsupportedMediaType", 415, {
  title: "The body must be JSON",
  description: "A body must come with `Content-Type: application/json`."
}) {}

/** The call opens a WebSocket, and the request is none for one. */
export class UpgradeRequired extends problem<UpgradeRequired>()("UpgradeRequired", 426, {
  title: "This is a WebSocket",
  description: "The call opens a WebSocket; the request lacks `Connection: Upgrade` and `Upgrade: websocket`."
}) {}

/** The head of the request is larger than the service's limit. */
export class HeadTooLarge extends problem<HeadTooLarge>()("HeadTooLarge", 431, {
  title: "The request's head is too large",
  description: "The URL and the headers of the request are larger than the service's limit."
}) {}

/** A bug in the service. The log has the details under the same incident id. */
export class Unexpected extends problem<Unexpected>()("Unexpected", 500, {
  title: "Something went wrong",
  description: "A bug in the service. Its log has the details under the same `incident`.",
  fields: {
    /** Names the entry in the service's log. */
    incident: Schema.String
  }
}) {}

/** The storage cannot be read or written. */
export class StorageUnavailable extends problem<StorageUnavailable>()("StorageUnavailable", 503, {
  title: "The storage is unavailable",
  description:
    "The storage cannot be read or written: full, read-only, locked or corrupt. Nothing of the call was stored. Only a command may still take effect; its `detail` states that."
}) {}

/** The service has not yet resumed the turns of its last process. */
export class Starting extends problem<Starting>()("Starting", 503, {
  title: "The service is starting",
  description:
    "The service is up and has not yet resumed all turns that its last process left unfinished. Calls on conversations wait until it has."
}) {}

/** The turn has stopped without a seal. */
export class TurnStopped extends problem<TurnStopped>()("TurnStopped", 503, {
  title: "The turn has stopped",
  description:
    "The turn cannot be recorded at present, or another process runs it. It is on disk and is not lost. A request with the same `turnId` refers to the same turn, and a command can be sent again."
}) {}

/** The service has no room for another request now. */
export class Busy extends problem<Busy>()("Busy", 503, {
  title: "The service is busy",
  description:
    "Requests under way take all the memory, or all the connections, that they may take. Nothing was accepted: send the request again after `Retry-After`."
}) {}

/** The service is shutting down. */
export class ShuttingDown extends problem<ShuttingDown>()("ShuttingDown", 503, {
  title: "The service is shutting down",
  description:
    "The service is shutting down. An accepted turn continues after the restart; a request with the same `turnId` refers to the same turn."
}) {}

/** Every problem, by the last part of its `type`. */
export const problems = {
  "invalid-request": InvalidRequest,
  unauthorized: Unauthorized,
  forbidden: Forbidden,
  "not-found": NotFound,
  "conversation-not-found": ConversationNotFound,
  "turn-not-found": TurnNotFound,
  "method-not-allowed": MethodNotAllowed,
  "request-timeout": RequestTimeout,
  "turn-conflict": TurnConflict,
  "body-too-large": BodyTooLarge,
  "file-too-large": FileTooLarge,
  "unsupported-media-type": UnsupportedMediaType,
  "upgrade-required": UpgradeRequired,
  "head-too-large": HeadTooLarge,
  unexpected: Unexpected,
  "storage-unavailable": StorageUnavailable,
  "turn-stopped": TurnStopped,
  starting: Starting,
  busy: Busy,
  "shutting-down": ShuttingDown
} as const

/** The name of a problem: the last part of its `type`. */
export const nameOf = ({ type }: Problem): keyof typeof problems =>
  type.slice(type.indexOf("-") + 1) as keyof typeof problems

/** Any problem. */
export type Problem = InstanceType<(typeof problems)[keyof typeof problems]>
