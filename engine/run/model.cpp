// Opening a model and making its arms.
#include "engine/run/model.h"

#include <algorithm>

namespace steady {

Model::Model(const std::string& path, int weights_descriptor)
    : file(GgufFile::open(path)),
      config(read_config(file)),
      uses(model_uses(file, config)),
      store(file, weights_descriptor) {}

std::vector<std::unique_ptr<Arm>> Model::make_arms(const std::vector<ArmOptions>& requests,
                                                   std::int64_t context) {
    std::vector<KernelPlan> plans;
    for (const ArmOptions& request : requests) {
        if (request.gpu >= 0) gpu::use(request.gpu);
        plans.push_back(resolve_plan(request.plan, uses.shapes, uses.traits, cache_of(request)));
        check_launch(request, plans.back());
    }
    for (const KernelPlan& plan : plans) place_weights(file, config, plan, store);
    store.reserve();
    std::vector<Weights> weights;
    for (const KernelPlan& plan : plans) {
        weights.push_back(place_weights(file, config, plan, store));
    }
    store.load(usable_cpus());
    std::vector<std::unique_ptr<Arm>> arms;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].gpu >= 0) weights[i] = device_weights.on_gpu(weights[i], config);
        arms.push_back(
            std::make_unique<Arm>(config, requests[i], plans[i], std::move(weights[i]), context));
    }
    return arms;
}

}  // namespace steady
