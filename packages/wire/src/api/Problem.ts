/**
 * Everything that can go wrong with a call, as RFC 9457 problem details (`application/problem+json`).
 *
 * A problem's `type` is where it is explained: a section that the page at `/docs` leads to, so the link works wherever the
 * service runs. `title` is the same for all problems of a type; `detail` says what happened this time, and what to do about it.
 *
 * P1. No problem carries a stack trace, a file name or a secret: an unexpected one carries an `incident`, and the log has
 *     the rest under the same id.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"

/** One thing that is wrong with a request. */
export const Issue = Schema.Struct({
  /** The part of the request it was found in. */
  in: Schema.Literals(["body", "path", "query", "header"]),
  /** The key, nested ones joined by dots; empty for the whole. */
  path: Schema.String.annotate({ examples: ["prompt"] }),
  /** What was expected. It never repeats what was sent. */
  message: Schema.String.annotate({ examples: ["Missing key"] })
}).annotate({ identifier: "Issue" })
export type Issue = typeof Issue.Type

/** The page at /docs leads on from every type to the section that explains it. */
const type = <const Name extends string>(name: Name): `/docs#problem-${Name}` => `/docs#problem-${name}`

/** The request is not what the call expects; `errors` names each place. */
export class InvalidRequest extends HttpApiError.Problem<InvalidRequest>()(
  "InvalidRequestProblem",
  { type: type("invalid-request"), status: 400, title: "The request is not valid" },
  { errors: Schema.optionalKey(Schema.Array(Issue)) },
  { description: "The request is not what the call expects; `errors` names each place." }
) {}

/** The call needs the service's token. */
export class Unauthorized extends HttpApiError.Problem<Unauthorized>()(
  "UnauthorizedProblem",
  { type: type("unauthorized"), status: 401, title: "A token is needed" },
  {},
  { description: "The service has a token, and the call came without it or with another." }
) {}

/** The `Host` or the `Origin` is not one that the service answers to. */
export class Forbidden extends HttpApiError.Problem<Forbidden>()(
  "ForbiddenProblem",
  { type: type("forbidden"), status: 403, title: "Not from there" },
  {},
  {
    description:
      "The `Host` header is not a name of this service, or the call comes from a page of another origin. This keeps web pages that a person visits from talking to a service on their own machine."
  }
) {}

/** There is nothing at this address. */
export class NotFound extends HttpApiError.Problem<NotFound>()(
  "NotFoundProblem",
  { type: type("not-found"), status: 404, title: "There is no such call" },
  {},
  { description: "No call has this path." }
) {}

/** There is no conversation of this id. */
export class ConversationNotFound extends HttpApiError.Problem<ConversationNotFound>()(
  "ConversationNotFoundProblem",
  { type: type("conversation-not-found"), status: 404, title: "There is no such conversation" },
  { conversationId: Schema.String },
  { description: "No conversation has this id." }
) {}

/** There is no turn of this id. */
export class TurnNotFound extends HttpApiError.Problem<TurnNotFound>()(
  "TurnNotFoundProblem",
  { type: type("turn-not-found"), status: 404, title: "There is no such turn" },
  {
    /** Absent where the call names no conversation. */
    conversationId: Schema.optionalKey(Schema.String),
    turnId: Schema.String
  },
  { description: "No turn has this id, or none of the conversation that the call names." }
) {}

/** The address exists, for other methods; the `Allow` header names them. */
export class MethodNotAllowed extends HttpApiError.Problem<MethodNotAllowed>()(
  "MethodNotAllowedProblem",
  { type: type("method-not-allowed"), status: 405, title: "Not with this method" },
  {},
  { description: "The path exists, for other methods; the `Allow` header names them." }
) {}

/** The whole request did not come in time. */
export class RequestTimeout extends HttpApiError.Problem<RequestTimeout>()(
  "RequestTimeoutProblem",
  { type: type("request-timeout"), status: 408, title: "The request did not arrive in time" },
  {},
  { description: "The head or the body of the request was sent too slowly." }
) {}

/** The turn id belongs to another turn, or there is nothing to retry. */
export class TurnConflict extends HttpApiError.Problem<TurnConflict>()(
  "TurnConflictProblem",
  { type: type("turn-conflict"), status: 409, title: "The turn cannot be taken" },
  {},
  { description: "The turn id belongs to another turn, or there is nothing to retry." }
) {}

/** The body is larger than the service takes. */
export class BodyTooLarge extends HttpApiError.Problem<BodyTooLarge>()(
  "BodyTooLargeProblem",
  { type: type("body-too-large"), status: 413, title: "The body is too large" },
  { limitBytes: Schema.Int },
  { description: "The body is larger than `limitBytes`." }
) {}

/** The body is not JSON, or does not say that it is. */
export class UnsupportedMediaType extends HttpApiError.Problem<UnsupportedMediaType>()(
  "UnsupportedMediaTypeProblem",
  { type: type("unsupported-media-type"), status: 415, title: "The body must be JSON" },
  {},
  { description: "A body must come with `Content-Type: application/json`." }
) {}

/** The head of the request is larger than the service takes. */
export class HeadTooLarge extends HttpApiError.Problem<HeadTooLarge>()(
  "HeadTooLargeProblem",
  { type: type("head-too-large"), status: 431, title: "The request's head is too large" },
  {},
  { description: "The address and the headers of the request are larger than the service takes." }
) {}

/** A bug. The log has the rest under the same incident id. */
export class Unexpected extends HttpApiError.Problem<Unexpected>()(
  "UnexpectedProblem",
  { type: type("unexpected"), status: 500, title: "Something went wrong" },
  {
    /** Names the entry in the service's log. */
    incident: Schema.String
  },
  { description: "A bug in the service. Its log has the rest under the same `incident`." }
) {}

/** The disk said no. */
export class StorageUnavailable extends HttpApiError.Problem<StorageUnavailable>()(
  "StorageUnavailableProblem",
  { type: type("storage-unavailable"), status: 503, title: "The storage is unavailable" },
  {},
  {
    description:
      "The disk said no: full, read-only, locked or corrupt. Nothing of the call was kept; only a command may still be carried out, and its `detail` says so."
  }
) {}

/** The service has not taken up yet what its last process left. */
export class Starting extends HttpApiError.Problem<Starting>()(
  "StartingProblem",
  { type: type("starting"), status: 503, title: "The service is starting" },
  {},
  {
    description:
      "The service is up and has not taken up all turns yet that its last process left unfinished. Calls on conversations wait until it has."
  }
) {}

/** The turn has stopped without a seal. */
export class TurnStopped extends HttpApiError.Problem<TurnStopped>()(
  "TurnStoppedProblem",
  { type: type("turn-stopped"), status: 503, title: "The turn has stopped" },
  {},
  {
    description:
      "The turn cannot be recorded at present, or another process runs it. It is on disk and is not lost; the same `turnId` again is the same turn, and the same command can be sent again."
  }
) {}

/** The service is going down. */
export class ShuttingDown extends HttpApiError.Problem<ShuttingDown>()(
  "ShuttingDownProblem",
  { type: type("shutting-down"), status: 503, title: "The service is shutting down" },
  {},
  {
    description:
      "The service is going down. A turn that was accepted goes on when it is back; the same `turnId` again is the same turn."
  }
) {}

/** Every problem, by the name that its `type` ends with. */
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
  "unsupported-media-type": UnsupportedMediaType,
  "head-too-large": HeadTooLarge,
  unexpected: Unexpected,
  "storage-unavailable": StorageUnavailable,
  "turn-stopped": TurnStopped,
  starting: Starting,
  "shutting-down": ShuttingDown
} as const

/** Any of them. */
export type Problem = InstanceType<(typeof problems)[keyof typeof problems]>
