#pragma once

// Registry of the SQLSTATEs that idem raises. Class ID is the product's own; a code is never reused for another
// meaning, because clients switch on it. ID004, ID005 and ID006 are reserved (docs/errors.md).
namespace idem::core::sqlstate {

inline constexpr char kKeyReused[] = "ID001";  // same scope, other fingerprint; HTTP 422
inline constexpr char kInProgress[] = "ID002"; // another transaction holds the scope or the order_ref; HTTP 409
inline constexpr char kOrderTaken[] = "ID003"; // the order_ref belongs to another transaction; HTTP 409

// PostgreSQL's own codes, where one fits (PostgreSQL documentation, appendix A).
inline constexpr char kNullValue[] = "22004";             // null_value_not_allowed
inline constexpr char kInvalidText[] = "22021";           // character_not_in_repertoire
inline constexpr char kUntranslatable[] = "22P05";        // untranslatable_character
inline constexpr char kInvalidParameter[] = "22023";      // invalid_parameter_value
inline constexpr char kSerializationFailure[] = "40001";  // serialization_failure
inline constexpr char kInsufficientPrivilege[] = "42501"; // insufficient_privilege
inline constexpr char kUndefinedColumn[] = "42703";       // undefined_column
inline constexpr char kLimitExceeded[] = "54000";         // program_limit_exceeded
inline constexpr char kTooComplex[] = "54001";            // statement_too_complex
inline constexpr char kNotInState[] = "55000";            // object_not_in_prerequisite_state
inline constexpr char kSystemError[] = "58000";           // system_error
inline constexpr char kDataCorrupted[] = "XX001";         // data_corrupted

} // namespace idem::core::sqlstate
