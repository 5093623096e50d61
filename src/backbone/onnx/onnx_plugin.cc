// SPDX-License-Identifier: MIT
#include <onnxruntime_cxx_api.h>

#include <stdexcept>

#include "backbone/onnx_session.h"
#include "util/plugin.h"

namespace ria {

namespace {

/// Its message without what follows the first line.
std::runtime_error failure(const std::string& file, const Ort::Exception& error) {
  const std::string message = error.what();
  return std::runtime_error(file + ": " + message.substr(0, message.find('\n')));
}

/// The library never prints: what is wrong comes as an exception.
void ORT_API_CALL
say_nothing(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

/// One for the process, and for good: sessions may outlive what static objects do at exit.
Ort::Env& environment() {
  static Ort::Env& env = *new Ort::Env(ORT_LOGGING_LEVEL_FATAL, "ria", say_nothing, nullptr);
  return env;
}

std::string type_name(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return "float32";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return "float64";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return "float16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return "bfloat16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return "uint8";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return "int8";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return "int32";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return "int64";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING:
      return "text";
    default:
      return "type " + std::to_string(static_cast<int>(type));
  }
}

OnnxTensor described(std::string name, const Ort::TypeInfo& type) {
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return {std::move(name), "no tensor", {}};
  const auto tensor = type.GetTensorTypeAndShapeInfo();
  return {std::move(name), type_name(tensor.GetElementType()), tensor.GetShape()};
}

Ort::SessionOptions session_options(int threads) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(threads);
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
  // A thread that waits must not hold the core that decodes the next picture.
  options.AddConfigEntry("session.intra_op.allow_spinning", "0");
  return options;
}

class Session final : public OnnxSession {
 public:
  Session(const std::string& file, int threads)
      : file_(file), session_(environment(), file.c_str(), session_options(threads)) {}

  OnnxDescription description() const override {
    try {
      OnnxDescription result;
      Ort::AllocatorWithDefaultOptions memory;
      for (std::size_t i = 0; i < session_.GetInputCount(); ++i) {
        result.inputs.push_back(described(session_.GetInputNameAllocated(i, memory).get(),
                                          session_.GetInputTypeInfo(i)));
      }
      for (std::size_t i = 0; i < session_.GetOutputCount(); ++i) {
        result.outputs.push_back(described(session_.GetOutputNameAllocated(i, memory).get(),
                                           session_.GetOutputTypeInfo(i)));
      }
      const Ort::ModelMetadata metadata = session_.GetModelMetadata();
      for (const auto& key : metadata.GetCustomMetadataMapKeysAllocated(memory)) {
        const auto value = metadata.LookupCustomMetadataMapAllocated(key.get(), memory);
        result.metadata[key.get()] = value.get();
      }
      return result;
    } catch (const Ort::Exception& error) {
      throw failure(file_, error);
    }
  }

  void run(const std::string& input,
           std::span<const std::int64_t> shape,
           std::span<const float> values,
           const std::string& output,
           const Use& use) const override {
    const char* const inputs[] = {input.c_str()};
    const char* const outputs[] = {output.c_str()};
    std::vector<Ort::Value> made;
    std::vector<std::int64_t> made_shape;
    try {
      const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
      const Ort::Value picture =
          Ort::Value::CreateTensor<float>(memory,
                                          const_cast<float*>(values.data()),  // only read
                                          values.size(),
                                          shape.data(),
                                          shape.size());
      made = session_.Run(Ort::RunOptions{nullptr}, inputs, &picture, 1, outputs, 1);
      made_shape = made[0].GetTensorTypeAndShapeInfo().GetShape();
    } catch (const Ort::Exception& error) {
      throw failure(file_, error);
    }
    use(made_shape, made[0].GetTensorData<float>());
  }

 private:
  std::string file_;
  mutable Ort::Session session_;  // Run() is for any number of threads, but not const
};

std::string version() { return Ort::GetVersionString(); }

std::unique_ptr<OnnxSession> open(const std::string& file, int threads) {
  try {
    return std::make_unique<Session>(file, threads);
  } catch (const Ort::Exception& error) {
    throw failure("cannot read " + file, error);
  }
}

constexpr OnnxFunctions kFunctions{version, open};

}  // namespace

}  // namespace ria

RIA_PLUGIN(onnx, ria::kFunctions)
