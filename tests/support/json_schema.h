// As much of JSON Schema (draft-07) as our schemas use: type, properties, required, items,
// additionalProperties, anyOf and references to definitions of the same document. Strict: a
// property that the schema does not name is an error, so that a new one must be described first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace steady {

class JsonSchema {
public:
    explicit JsonSchema(nlohmann::json document) : document_(std::move(document)) {}

    // What does not fit, each with its JSON Pointer; empty: it fits.
    std::vector<std::string> errors(const nlohmann::json& value,
                                    const nlohmann::json& schema) const {
        std::vector<std::string> out;
        check(value, schema, "", out);
        return out;
    }
    const nlohmann::json& document() const { return document_; }

private:
    using Json = nlohmann::json;

    static bool is(const Json& value, const std::string& type) {
        if (type == "null") return value.is_null();
        if (type == "boolean") return value.is_boolean();
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        if (type == "string") return value.is_string();
        if (type == "array") return value.is_array();
        return type == "object" && value.is_object();
    }

    void check(const Json& value, const Json& schema, const std::string& at,
               std::vector<std::string>& out) const {
        if (schema.contains("$ref")) {
            const std::string ref = schema.at("$ref");
            return check(value, document_.at(Json::json_pointer(ref.substr(1))), at, out);
        }
        if (schema.contains("anyOf")) {
            for (const Json& one : schema.at("anyOf")) {
                std::vector<std::string> found;
                check(value, one, at, found);
                if (found.empty()) return;
            }
            out.push_back(at + ": fits no form: " + value.dump().substr(0, 200));
            return;
        }
        if (schema.contains("type") && !has_type(value, schema.at("type"))) {
            out.push_back(at + ": found " + value.dump().substr(0, 80) + ", allowed " +
                          schema.at("type").dump());
            return;
        }
        if (value.is_object()) check_object(value, schema, at, out);
        if (!value.is_array() || !schema.contains("items")) return;
        for (std::size_t i = 0; i < value.size(); ++i) {
            check(value[i], schema.at("items"), at + "/" + std::to_string(i), out);
        }
    }

    static bool has_type(const Json& value, const Json& types) {
        if (types.is_string()) return is(value, types);
        for (const Json& one : types) {
            if (is(value, one)) return true;
        }
        return false;
    }

    void check_object(const Json& value, const Json& schema, const std::string& at,
                      std::vector<std::string>& out) const {
        for (const Json& key : schema.value("required", Json::array())) {
            if (!value.contains(key))
                out.push_back(at + "/" + key.get<std::string>() + ": missing");
        }
        if (!schema.contains("properties") && !schema.contains("additionalProperties")) return;
        for (const auto& [key, inner] : value.items()) {
            const std::string here = at + "/" + key;
            if (schema.contains("properties") && schema.at("properties").contains(key)) {
                check(inner, schema.at("properties").at(key), here, out);
            } else if (schema.contains("additionalProperties")) {
                check(inner, schema.at("additionalProperties"), here, out);
            } else {
                out.push_back(here + ": not in the schema");
            }
        }
    }

    Json document_;
};

}  // namespace steady
